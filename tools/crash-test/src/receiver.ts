import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Chance } from './chance'

/** An attempt that arrived. Times are milliseconds since 1970. */
export interface Arrival {
  /** The id of the event. */
  id: string
  /** The number of the event, from the header `webhook-sequence`. */
  number: number
  at: number
  /** Undefined until the receiver has responded. */
  respondedAt?: number
  status: number
}

/** The share of attempts that get the response 503. */
const REFUSED = 0.03
/** The share of attempts that get a response only after their timeout. */
const TIMED_OUT = 0.005
/**
 * The receiver refuses or delays only the first attempts of an event, so that no delivery uses up all its
 * retries.
 */
const MAX_SPOILED = 2

/**
 * Starts a receiver that records each attempt. It refuses some attempts, and responds to some only after
 * `lateMs`.
 */
export const startReceiver = async ({ chance, lateMs }: { chance: Chance; lateMs: number }) => {
  const arrivals = new Map<string, Arrival[]>()
  const server = createServer((request, response) => {
    const id = String(request.headers['webhook-id'])
    request.resume()
    request.on('end', () => {
      const before = arrivals.get(id) ?? []
      const drawn = before.length < MAX_SPOILED ? chance.next() : 1
      const isLate = drawn >= REFUSED && drawn < REFUSED + TIMED_OUT
      const number = Number(request.headers['webhook-sequence'])
      const arrival: Arrival = { id, number, at: Date.now(), status: drawn < REFUSED ? 503 : 200 }
      arrivals.set(id, [...before, arrival])
      const respond = () => {
        arrival.respondedAt = Date.now()
        response.writeHead(arrival.status).end()
      }
      if (isLate) setTimeout(respond, lateMs)
      else respond()
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    /** Returns the attempts of an event. */
    listArrivals: (id: string): Arrival[] => arrivals.get(id) ?? [],
    stop: () =>
      new Promise<void>((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      }),
  }
}
