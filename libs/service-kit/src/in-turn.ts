/**
 * Server side of a conversation (`converseWith`): answers the messages of a stream one after the other. What `answer` throws
 * ends the stream with the failure.
 */
export const inTurn = <Request, Response>(answer: (request: Request) => Promise<Response>) =>
  async function* (requests: AsyncIterable<Request>): AsyncGenerator<Response, void, undefined> {
    for await (const request of requests) yield await answer(request)
  }
