import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Chance } from './chance'

/** An attempt that came. Times are milliseconds since 1970. */
export interface Arrival {
  /** The id of the event. */
  id: string
  /** Its `webhook-sequence`. */
  number: number
  at: number
  /** Undefined while it is not answered. */
  answeredAt?: number
  status: number
}

/** How many of all attempts are refused, and how many are answered too late. Those of one event at most so often. */
const REFUSED = 0.03
const LATE = 0.005
const SPOILED_AT_MOST = 2

/** A receiver that writes down each attempt, and now and then refuses one or answers it later than it is waited for. */
export const startReceiver = async ({ chance, lateMs }: { chance: Chance; lateMs: number }) => {
  const arrivals = new Map<string, Arrival[]>()
  const server = createServer((request, response) => {
    const id = String(request.headers['webhook-id'])
    request.resume()
    request.on('end', () => {
      const before = arrivals.get(id) ?? []
      const drawn = before.length < SPOILED_AT_MOST ? chance.next() : 1
      const isLate = drawn >= REFUSED && drawn < REFUSED + LATE
      const number = Number(request.headers['webhook-sequence'])
      const arrival: Arrival = { id, number, at: Date.now(), status: drawn < REFUSED ? 503 : 200 }
      arrivals.set(id, [...before, arrival])
      const answer = () => {
        arrival.answeredAt = Date.now()
        response.writeHead(arrival.status).end()
      }
      if (isLate) setTimeout(answer, lateMs)
      else answer()
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    arrivalsOf: (id: string): Arrival[] => arrivals.get(id) ?? [],
    stop: () =>
      new Promise<void>((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      }),
  }
}
