/* Agent of the wire protocol in C, without a library:

       gcc -O2 -o bot bot.c && flagfall run --task micro1 --agent cmd:./bot

   It repeats bytes, and plays action 0 for any other observation. Fields have the order of docs/protocol.md:
   type, number, phase, observation; so text in an observation cannot be mistaken for one of them. */

#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text after a key, or NULL. */
static const char *after(const char *line, const char *key) {
    const char *found = strstr(line, key);
    return found == NULL ? NULL : found + strlen(key);
}

static void answer(const char *line) {
    const char *number = after(line, "\"number\":");
    const char *shown = after(line, "\"observation\":");
    if (number == NULL || shown == NULL)
        return;
    long action = isdigit((unsigned char)*shown) ? strtol(shown, NULL, 10) : 0;
    printf("{\"type\":\"answer\",\"number\":%ld,\"action\":%ld}\n", strtol(number, NULL, 10), action);
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) != -1) {
        const char *type = after(line, "\"type\":\"");
        if (type == NULL || strncmp(type, "bye", 3) == 0)
            break;
        if (strncmp(type, "hello", 5) == 0)
            puts("{\"type\":\"ready\",\"wants\":[\"act\"],\"version\":1}");
        else if (strncmp(type, "ask", 3) == 0)
            answer(line);
        fflush(stdout);
    }
    free(line);
    return 0;
}
