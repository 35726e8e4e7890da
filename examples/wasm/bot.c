/* Agent that repeats the byte of the turn before, in C, for WebAssembly.
 *
 *     pip install ziglang
 *     python -m ziglang cc -target wasm32-wasi -mexec-model=reactor -O2 -o bot.wasm examples/wasm/bot.c
 *     flagfall run --task micro4 --agent bot.wasm --clock virtual --think "fuel(1G/s)"
 *
 * Its functions are those of flagfall/agents/wasm/agent.wit, by the canonical ABI: the host asks `cabi_realloc` for
 * memory, writes a message there, and calls; the answer is a pointer to a pointer and a size. Messages are those of
 * docs/protocol.md, as JSON. Programs with a JSON library parse them; here it is enough to find two numbers.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(name)))

typedef struct {
    const char *data;
    uint32_t size;
} answer;

static char text[128];
static answer said = {text, 0};

EXPORT("cabi_realloc")
void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size)
{
    (void)old_size, (void)align;
    return realloc(old, size);
}

EXPORT("start")
answer *agent_start(char *hello, size_t size)
{
    (void)size;
    free(hello);
    said.size = (uint32_t)snprintf(text, sizeof text, "{\"type\":\"ready\"}");
    return &said;
}

static long find_number(const char *message, const char *key)
{
    const char *found = strstr(message, key);
    return found ? strtol(found + strlen(key), NULL, 10) : 0;
}

EXPORT("act")
answer *agent_act(char *ask, size_t size)
{
    static long last = 32;
    char *message = realloc(ask, size + 1);
    if (message == NULL)
        abort();
    message[size] = '\0';
    said.size = (uint32_t)snprintf(text, sizeof text, "{\"type\":\"answer\",\"number\":%ld,\"action\":%ld}",
                                   find_number(message, "\"number\":"), last);
    last = find_number(message, "\"observation\":");
    free(message);
    return &said;
}

EXPORT("result")
answer *agent_result(char *ask, size_t size)
{
    return agent_act(ask, size);
}
