import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '@leadwire/test-kit'
import { createClient } from '../../support/client'
import { LEAD } from '../../support/stage'

const APART_MS = 80

export type Failure = { status: number | 'unreachable'; body: string }

export type Load = {
  /** The references of the accepted leads. */
  accepted: string[]
  /**
   * The failed requests, with the bodies of their responses. A request without a response has the status
   * `unreachable`, and its error as the body.
   */
  failures: Failure[]
  /** Waits until `count` more leads are accepted. */
  moves(count: number): Promise<void>
  /** Waits for the next failure. */
  suffers(): Promise<void>
  /** Sends further requests to these base URLs only, as a load balancer does with ready gateways. */
  use(bases: string[]): void
  stop(): Promise<void>
}

/**
 * Starts clients that create leads and rotate over the addresses. A client pauses 80 ms after each request,
 * so four clients create up to 50 leads a second. A client repeats a failed create with the same
 * Idempotency-Key until the response is 200.
 */
export function startLoad({
  bases,
  token,
  clients = 4,
}: {
  bases: string[]
  token: string
  clients?: number
}): Load {
  const accepted: string[] = []
  const failures: Failure[] = []
  const connections = bases.map((base) => createClient(base, { token }))
  let used = connections
  let running = true

  const createOne = async (turn: number) => {
    const headers = { 'idempotency-key': randomUUID() }
    for (let attempt = turn; ; attempt++) {
      const client = used[attempt % used.length]!
      try {
        const answer = await client.request<{ data: { reference: string } }>('POST', '/leads', {
          json: LEAD,
          headers,
        })
        if (answer.status === 200) return accepted.push(answer.json.data.reference)
        failures.push({ status: answer.status, body: answer.text })
      } catch (error) {
        failures.push({ status: 'unreachable', body: String(error) })
      }
      await pause(APART_MS)
    }
  }
  const work = async (first: number) => {
    for (let turn = first; running; turn++) {
      await createOne(turn)
      await pause(APART_MS)
    }
  }
  const workers = Array.from({ length: clients }, (_, i) => work(i))
  const moves = async (count: number) => {
    const goal = accepted.length + count
    await eventually(() => expect(accepted.length).toBeGreaterThanOrEqual(goal))
  }
  const suffers = async () => {
    const before = failures.length
    await eventually(() => expect(failures.length).toBeGreaterThan(before))
  }
  return {
    accepted,
    failures,
    moves,
    suffers,
    use: (some) => {
      used = connections.filter((_, index) => some.includes(bases[index]!))
    },
    stop: async () => {
      running = false
      await Promise.all(workers)
      await Promise.all(connections.map((client) => client.close()))
    },
  }
}
