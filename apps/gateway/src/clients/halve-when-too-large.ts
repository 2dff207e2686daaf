import { ServiceError } from '@leadwire/service-kit'

// gRPC's RESOURCE_EXHAUSTED: the answer is larger than a message may be.
const TOO_LARGE = 8

const isTooLarge = (error: unknown) =>
  error instanceof ServiceError && (error.cause as { code?: unknown } | undefined)?.code === TOO_LARGE

/**
 * Sends a batch again in halves when its answer is too large for one message, so that one account's huge leads never
 * fail the reads of others that were batched with them. Only for calls that change nothing.
 */
export const halveWhenTooLarge =
  <Item, Result>(send: (items: Item[], deadlines: number[]) => Promise<Result[]>) =>
  async (items: Item[], deadlines: number[]): Promise<Result[]> => {
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
