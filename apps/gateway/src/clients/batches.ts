import { ServiceError } from '@leadwire/service-kit'

type Send<Item, Result> = (items: Item[], deadlines: number[]) => Promise<Result[]>

/** Sends batches with `call`. Each item carries the time it has left, and the call has until the last of their deadlines. */
export const inTime =
  <Item extends { timeoutMs?: number | undefined }, Result>(
    call: (items: Item[], deadline: number) => Promise<{ results: Result[] }>,
  ): Send<Item, Result> =>
  async (items, deadlines) => {
    for (const [index, item] of items.entries()) {
      item.timeoutMs = Math.max(1, deadlines[index]! - Date.now())
    }
    return (await call(items, Math.max(...deadlines))).results
  }

/** Sends items with the same key as one, with the last of their deadlines. Only for calls that change nothing. */
export const askOnce =
  <Item, Result>(keyOf: (item: Item) => string, send: Send<Item, Result>): Send<Item, Result> =>
  async (items, deadlines) => {
    const keys = items.map(keyOf)
    const asked = new Map<string, { item: Item; deadline: number; place: number }>()
    for (const [index, item] of items.entries()) {
      const { deadline = 0, place = asked.size } = asked.get(keys[index]!) ?? {}
      asked.set(keys[index]!, { item, deadline: Math.max(deadline, deadlines[index]!), place })
    }
    const sent = [...asked.values()]
    const results = await send(
      sent.map(({ item }) => item),
      sent.map(({ deadline }) => deadline),
    )
    return keys.map((key) => results[asked.get(key)!.place]!)
  }

// gRPC's RESOURCE_EXHAUSTED: the response is larger than a message may be.
const TOO_LARGE = 8

const isTooLarge = (error: unknown) =>
  error instanceof ServiceError && (error.cause as { code?: unknown } | undefined)?.code === TOO_LARGE

/** Sends a batch in halves when its response is too large, so that a large lead fails no other read. Only for reads. */
export const halveWhenTooLarge =
  <Item, Result>(send: Send<Item, Result>): Send<Item, Result> =>
  async (items, deadlines) => {
    try {
      return await send(items, deadlines)
    } catch (error) {
      if (items.length === 1 || !isTooLarge(error)) throw error
      const half = Math.ceil(items.length / 2)
      const again = halveWhenTooLarge(send)
      return [
        ...(await again(items.slice(0, half), deadlines.slice(0, half))),
        ...(await again(items.slice(half), deadlines.slice(half))),
      ]
    }
  }
