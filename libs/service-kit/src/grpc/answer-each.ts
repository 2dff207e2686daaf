import { abortable } from 'abort-controller-x'
import type { ObservedContext } from './observe-calls'

/** So long a stream is kept: clients look addresses up again, and find other copies, only when they open a new one. */
const STREAM_AGE_MS = 20_000

/**
 * Server side of a stream of batches (`batchStream`): reads a batch, answers it, and reads the next. It ends the stream, behind
 * an answer, when it is old, and at once when the service drains. A batch that it has not begun by then was not read,
 * as far as its client can tell, and is sent again elsewhere. What `answer` throws ends the stream with that error.
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
