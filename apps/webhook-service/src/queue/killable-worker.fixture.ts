import { randomUUID } from 'node:crypto'
import {
  connectDatabase,
  createLifecycle,
  createLogger,
  createMetrics,
  type Database,
  type Query,
} from '@leadwire/service-kit'
import type { Outcome } from '../attempt/make-attempt'
import type { Clock } from '../clock'
import { createStore } from '../ingest/store-in-batches'
import type { ClaimedDelivery } from './claim-deliveries'
import { createDeliveryMetrics } from './delivery-metrics'
import { type Sender, sendDeliveries } from './send-deliveries'

/** The moments between an event or a claim and the commit of its attempt at which a worker can be made to die. */
export const DEATHS = [
  'storing',
  'stored',
  'claiming',
  'claimed',
  'starting',
  'answered',
  'recorded',
] as const
export type Death = (typeof DEATHS)[number]

export interface KillableWorker {
  sender: Sender
  store: ReturnType<typeof createStore>
  /** It dies when it comes to this moment next. */
  dieWhen(death: Death): void
  isDead(): boolean
  died: Promise<void>
  /** Ends its sessions from the database's side; the worker lives on. */
  cut(): Promise<void>
}

const BEFORE: Record<string, Death> = {
  'store-events': 'storing',
  'claim-deliveries': 'claiming',
  'record-attempts': 'answered',
}
const AFTER: Record<string, Death> = {
  'store-events': 'stored',
  'claim-deliveries': 'claimed',
  'record-attempts': 'recorded',
}

const never = () => new Promise<never>(() => undefined)

/**
 * A real worker over a real database that stops in the middle as a killed process does: from that moment on nothing it
 * asks is answered, and PostgreSQL ends its session.
 */
export const startKillableWorker = (options: {
  url: string
  /** Connections of the spec itself, which live on. */
  control: Database
  attempt: (delivery: ClaimedDelivery) => Promise<Outcome>
  timeoutMs: number
  schedule: number[]
  clock: Clock
}): KillableWorker => {
  const { control, clock } = options
  const logger = createLogger({ service: 'spec', level: 'silent' })
  const name = `worker-${randomUUID()}`
  const lifecycle = createLifecycle(logger)
  const url = new URL(options.url)
  url.searchParams.set('application_name', name)
  const database = connectDatabase({ url: url.href, poolSize: 12, lifecycle }).with('worker', [
    'synchronous_commit = off',
  ])
  let dead = false
  let resolveDied = () => {}
  const died = new Promise<void>((resolve) => {
    resolveDied = resolve
  })
  let planned: Death | undefined

  const cut = async () => {
    await control.query({
      text: 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
      values: [name],
    })
  }
  const die = async (): Promise<never> => {
    dead = true
    resolveDied()
    await cut()
    return never()
  }
  const at = async (death: Death | undefined) => {
    if (dead) return never()
    return death !== undefined && planned === death ? die() : undefined
  }
  const run = async <T>(query: Query, real: () => Promise<T>): Promise<T> => {
    if (dead) return never()
    await at(BEFORE[query.name ?? ''])
    const result = await real()
    await at(AFTER[query.name ?? ''])
    return dead ? never() : result
  }
  const killable: Database = { ...database, query: (query) => run(query, () => database.query(query)) }

  const sender = sendDeliveries({
    ...{ database: killable, queue: killable, claimMs: options.timeoutMs + 400 },
    attempt: async (delivery) => {
      await at('starting')
      return options.attempt(delivery)
    },
    schedule: options.schedule,
    concurrency: 16,
    endpointConcurrency: 4,
    idlePollMs: 1000,
    clock,
    metrics: createDeliveryMetrics({
      kind: 'webhook',
      metrics: createMetrics('spec'),
      queue: database,
      clock,
      logger,
    }),
    logger,
  })
  return {
    sender,
    store: createStore({ queue: killable, clock, sender }),
    dieWhen: (death) => {
      planned = death
    },
    isDead: () => dead,
    died,
    cut,
  }
}
