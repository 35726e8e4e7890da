/* Agent that works as much as its observation says, as work_agent.py does, and answers it:

       zig cc -O2 -DWORK=arithmetic -o work work_agent.c
       zig cc -O2 -DWORK=arithmetic -target wasm32-wasi -mexec-model=reactor -s -o work.wasm work_agent.c */

#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 4000 };

static uint32_t state = 1;
static uint32_t numbers[NUMBERS];
static char text[NUMBERS * 11 + 1];
volatile uint32_t done;

static uint32_t next(void) { return state = state * 1103515245u + 12345u; }

static uint32_t arithmetic(void) {
    uint32_t sum = 0;
    for (uint32_t number = 0; number < 250000; number++)
        sum = (sum ^ number) * 31 % 1000003;
    return sum;
}

static int compare(const void *one, const void *other) {
    uint32_t left = *(const uint32_t *)one, right = *(const uint32_t *)other;
    return left < right ? -1 : left > right;
}

static uint32_t sorting(void) {
    for (int place = 0; place < NUMBERS; place++)
        numbers[place] = next();
    qsort(numbers, NUMBERS, sizeof *numbers, compare);
    return numbers[NUMBERS / 2];
}

static uint32_t texts(void) {
    char *end = text;
    for (int place = 0; place < NUMBERS / 2; place++)
        end += sprintf(end, "%u,", (unsigned)next());
    uint32_t sum = 0;
    for (char *at = text; at < end; at++)
        sum += strtoul(at, &at, 10);
    return sum;
}

static int answer(char *into, const char *ask) {
    const char *number = strstr(ask, "\"number\":"), *shown = strstr(ask, "\"observation\":");
    long amount = shown == NULL ? 0 : strtol(shown + 14, NULL, 10);
    for (long part = 0; part < amount; part++)
        done += WORK();
    return sprintf(into, "{\"type\":\"answer\",\"number\":%ld,\"action\":%ld}", strtol(number + 9, NULL, 10), amount);
}

#define READY "{\"type\":\"ready\",\"wants\":[\"act\"],\"version\":1}"
static char room[128];

#ifdef __wasm__

#define EXPORT(name) __attribute__((export_name(name)))
static struct {
    const char *text;
    size_t size;
} list = {READY, sizeof READY - 1};

EXPORT("cabi_realloc") void *make_room(void *old, size_t old_size, size_t align, size_t size) {
    char *made = realloc(old, size + 1);
    made[size] = 0;
    return made;
}
EXPORT("start") void *start(char *message, size_t size) { return &list; }
EXPORT("act") void *act(char *message, size_t size) {
    list.size = answer(room, message);
    list.text = room;
    free(message);
    return &list;
}
EXPORT("result") void *result(char *message, size_t size) { return act(message, size); }

#else

int main(void) {
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) != -1 && strstr(line, "\"type\":\"bye\"") == NULL) {
        if (strstr(line, "\"type\":\"hello\"") != NULL)
            strcpy(room, READY);
        else
            answer(room, line);
        puts(room);
        fflush(stdout);
    }
    return 0;
}

#endif
