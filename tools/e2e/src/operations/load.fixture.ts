import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '@leadwire/test-kit'
import { createClient } from '../client'
import { LEAD } from '../stage.fixture'

const APART_MS = 80

export type Failure = { status: number | 'unreachable'; body: string }

export type Load = {
  /** References of the leads that were answered 200. */
  accepted: string[]
  /** Every other answer with its body, and `unreachable` with the error where there was none. */
  failures: Failure[]
  /** Waits until `count` more leads are accepted. */
  moves(count: number): Promise<void>
  /** Waits until something fails that has not failed before. */
  suffers(): Promise<void>
  /** Sends to these of the addresses from now on, as a balancer does that sees which gateways are ready. */
  use(bases: string[]): void
  stop(): Promise<void>
}

/**
 * Clients that create leads, up to 50 a second, and, like sensible ones, try again under the same Idempotency-Key until
 * they are answered 200. They rotate over the addresses.
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
