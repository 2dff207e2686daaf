import { abortable } from 'abort-controller-x'
import type { ObservedContext } from './observe-calls'

/** Clients find new copies of a service only when they open another stream. */
const STREAM_AGE_MS = 20_000

/**
 * Server side of a stream of batches (`batchStream`): answers one batch after the other. It ends the stream behind an answer when
 * the stream is old, and at once when the service drains; the client sends a batch again elsewhere that was not read by then.
 * An error of `answer` ends the stream.
 */
export const answerEach = <Request, Response>(
  answer: (request: Request) => Promise<Response>,
  draining: AbortSignal,
) =>
  async function* (
    requests: AsyncIterable<Request>,
    { observe = (_, answering) => answering() }: ObservedContext,
  ): AsyncGenerator<Response, void, undefined> {
    const endsAt = performance.now() + STREAM_AGE_MS
    const batches = requests[Symbol.asyncIterator]()
    while (!draining.aborted && performance.now() < endsAt) {
      const batch = await abortable(draining, batches.next()).catch((error) => {
        if (!draining.aborted) throw error
      })
      if (!batch || batch.done) return
      yield await observe(batch.value as object, () => answer(batch.value))
    }
  }
