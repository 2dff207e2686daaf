import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '@leadwire/test-kit'
import type { Answer, RequestOptions } from '../client'
import { PNG } from '../files/samples.fixture'
import { LEAD, type Stage, type Tenant } from '../stage.fixture'

export const KINDS = ['create', 'retrieve', 'list', 'deliveries', 'attach', 'download', 'health'] as const
export type Kind = (typeof KINDS)[number]

export type Probe = {
  kind: Kind
  status: number
  retryAfter: number
  /** Milliseconds of the process's own clock. */
  sentAt: number
  answeredAt: number
}

/** A request has 10 s; the rest is for a busy machine. */
const ANSWERED_WITHIN_MS = 20_000
const PAUSE_MS = 150
const AT_ONCE: Partial<Record<Kind, number>> = { create: 2 }

export type Probes = Awaited<ReturnType<typeof startProbes>>

/**
 * Clients that ask for one thing again and again, each for another, and try nothing twice. `health` asks each service in turn whether
 * it lives.
 */
export async function startProbes(stage: Stage, tenant: Tenant) {
  const accepted: string[] = []
  const answers: Probe[] = []
  const { client } = tenant
  const first = await tenant.createLead()
  const attachments = `/leads/${first.reference}/attachments`
  const file: RequestOptions = {
    multipart: [
      { name: 'name', value: 'A file' },
      { name: 'file', value: PNG, fileName: 'a.png' },
    ],
  }
  const attached = await tenant.send<{ url: string }>('POST', attachments, file)
  const health = stage.system.services.flatMap(({ health, base }) => (base ? [health, base] : [health]))
  let turn = 0
  const asks: Record<Kind, () => Promise<Answer>> = {
    create: () => client.request('POST', '/leads', { json: LEAD }),
    retrieve: () => client.request('GET', `/leads/${first.reference}`),
    list: () => client.request('GET', '/leads'),
    deliveries: () => client.request('GET', '/manage/deliveries'),
    attach: () => client.request('POST', attachments, file),
    download: () => client.request('GET', attached.url),
    health: () => client.request('GET', `${health[turn++ % health.length]}/healthz`),
  }

  let running = true
  const work = async (kind: Kind) => {
    while (running) {
      const sentAt = performance.now()
      const { status, headers, json } = await asks[kind]()
      if (kind === 'create' && status === 200)
        accepted.push((json as { data: { reference: string } }).data.reference)
      const retryAfter = Number(headers['retry-after'] ?? 0)
      answers.push({ kind, status, retryAfter, sentAt, answeredAt: performance.now() })
      await pause(PAUSE_MS)
    }
  }
  const workers = KINDS.flatMap((kind) => Array.from({ length: AT_ONCE[kind] ?? 1 }, () => work(kind)))
  // What goes wrong in one is told by `stop`.
  for (const worker of workers) worker.catch(() => undefined)

  return {
    /** References of the leads that were answered 200. */
    accepted,
    answers,
    /** Waits until each of `kinds` was refused, by what was asked after `since`. */
    refused: (kinds: readonly Kind[], since: number) =>
      eventually(() => {
        const bad = answers.filter(({ sentAt, status }) => sentAt >= since && status !== 200)
        expect(bad.map(({ kind }) => kind)).toEqual(expect.arrayContaining([...kinds]))
      }),
    /** Waits until each kind was answered 200 so often in a row, of what was asked after `since`. */
    served: (since: number, { times = 3, timeoutMs = 60_000 } = {}) =>
      eventually(
        () => {
          for (const kind of KINDS) {
            const last = answers.filter((one) => one.kind === kind && one.sentAt >= since).slice(-times)
            expect([kind, last.map(({ status }) => status)]).toEqual([kind, Array(times).fill(200)])
          }
        },
        { timeoutMs },
      ),
    stop: async () => {
      running = false
      await Promise.all(workers)
    },
  }
}

/**
 * Every answer is a success or a 503 that says when to try again. A write that could not be stopped may be a 504, and only kinds
 * that the fault `hits` are refused at all.
 */
export function expectHonest(answers: Probe[], hits: readonly Kind[]): void {
  const isWrite = (kind: Kind) => kind === 'create' || kind === 'attach'
  const isHonest = ({ kind, status, retryAfter, sentAt, answeredAt }: Probe) =>
    answeredAt - sentAt < ANSWERED_WITHIN_MS &&
    (status === 200 ||
      (hits.includes(kind) && ((status === 503 && retryAfter > 0) || (status === 504 && isWrite(kind)))))
  expect(answers.filter((answer) => !isHonest(answer))).toEqual([])
}
