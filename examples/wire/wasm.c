/* Agent in WebAssembly in C, without a library:

       python -m ziglang cc -target wasm32-wasi -mexec-model=reactor -Os -s -o bot.wasm examples/wire/wasm.c
       flagfall run --task micro1 --agent bot.wasm --think "fuel(1G/s)"

   It plays as bot.c does. Its exports are those of agent.wit: each takes a message, whose memory `cabi_realloc` gave,
   and returns the place of its answer. It never frees an answer, as it has room for one only. */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(name)))

typedef struct {
    const char *text;
    size_t size;
} List;

static char room[128];
static List answer = {room, 0};

/* Memory for a message, and for the zero that ends a text in C. */
EXPORT("cabi_realloc") void *make_room(void *old, size_t old_size, size_t align, size_t size) {
    (void)old_size, (void)align;
    char *text = realloc(old, size + 1);
    if (text == NULL)
        abort();
    text[size] = 0;
    return text;
}

EXPORT("start") const List *start(char *message, size_t size) {
    (void)size;
    free(message);
    answer.size = snprintf(room, sizeof room, "{\"type\":\"ready\",\"wants\":[\"act\"],\"version\":1}");
    return &answer;
}

/* The number after a key, or 0. */
static long after(const char *message, const char *key) {
    const char *found = strstr(message, key);
    return found == NULL ? 0 : strtol(found + strlen(key), NULL, 10);
}

EXPORT("act") const List *act(char *message, size_t size) {
    (void)size;
    long number = after(message, "\"number\":"), action = after(message, "\"observation\":");
    free(message);
    answer.size = snprintf(room, sizeof room, "{\"type\":\"answer\",\"number\":%ld,\"action\":%ld}", number, action);
    return &answer;
}

/* Only agents that want the phase `result` are asked here. */
EXPORT("result") const List *result(char *message, size_t size) { return act(message, size); }
