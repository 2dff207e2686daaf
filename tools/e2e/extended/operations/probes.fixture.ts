import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '@leadwire/test-kit'
import type { Answer, RequestOptions } from '../../support/client'
import { PNG } from '../../support/samples'
import { LEAD, type Stage, type Tenant } from '../../support/stage'

export const KINDS = ['create', 'retrieve', 'list', 'deliveries', 'attach', 'download', 'health'] as const
export type Kind = (typeof KINDS)[number]

export type Probe = {
  kind: Kind
  status: number
  retryAfter: number
  /** Milliseconds of performance.now(). */
  sentAt: number
  answeredAt: number
}

const PAUSE_MS = 150
const AT_ONCE: Partial<Record<Kind, number>> = { create: 2 }
/** Closes the connection after the response. Otherwise the server might close it during the next request. */
const CLOSE: RequestOptions = { headers: { connection: 'close' } }

export type Probes = Awaited<ReturnType<typeof startProbes>>

/**
 * Starts two clients that create leads, and one client for each other kind of request. A client sends a new
 * request after each response, and does not retry failed requests. `health` checks the services one after the
 * other.
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
    health: () => client.request('GET', `${health[turn++ % health.length]}/healthz`, CLOSE),
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
  // Prevents unhandled rejections. `stop` rejects with the error of a worker.
  for (const worker of workers) worker.catch(() => undefined)

  return {
    /** The references of the accepted leads. */
    accepted,
    answers,
    /** Waits until a request of each kind in `kinds`, sent after `since`, was refused. */
    refused: (kinds: readonly Kind[], since: number) =>
      eventually(() => {
        const bad = answers.filter(({ sentAt, status }) => sentAt >= since && status !== 200)
        expect(bad.map(({ kind }) => kind)).toEqual(expect.arrayContaining([...kinds]))
      }),
    /** Waits until the last `times` requests of each kind, all sent after `since`, succeeded. */
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
 * Expects that every response is a success or 503 with Retry-After. A write that could not be stopped may get
 * 504. Only kinds in `hits` may be refused.
 */
export function expectHonest(answers: Probe[], hits: readonly Kind[]): void {
  const isWrite = (kind: Kind) => kind === 'create' || kind === 'attach'
  const isHonest = ({ kind, status, retryAfter }: Probe) =>
    status === 200 ||
    (hits.includes(kind) && ((status === 503 && retryAfter > 0) || (status === 504 && isWrite(kind))))
  expect(answers.filter((answer) => !isHonest(answer))).toEqual([])
}
