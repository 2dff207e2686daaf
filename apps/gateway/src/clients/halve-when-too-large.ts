import { ServiceError } from '@leadwire/service-kit'

// gRPC's RESOURCE_EXHAUSTED: the response is larger than a message may be.
const TOO_LARGE = 8

const isTooLarge = (error: unknown) =>
  error instanceof ServiceError && (error.cause as { code?: unknown } | undefined)?.code === TOO_LARGE

/**
 * Sends a batch again in halves when its response is too large for one message, so that large leads never fail the reads of other
 * accounts in the batch. Only for calls that change nothing.
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
