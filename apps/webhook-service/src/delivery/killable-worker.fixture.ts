import { randomUUID } from 'node:crypto'
import {
  connectDatabase,
  createLifecycle,
  createLogger,
  createMetrics,
  type Database,
  type Query,
} from '@leadwire/service-kit'
import type { Clock } from '../clock'
import { createAppend } from './append/append-in-batches'
import type { Outcome } from './attempt/make-attempt'
import type { ClaimedDelivery } from './claim/claim-deliveries'
import { createDeliveryMetrics } from './delivery-metrics'
import { type Sender, sendDeliveries } from './send-deliveries'

/**
 * The moments at which a worker can be made to die, from storing an event to recording its attempt.
 */
export const DEATHS = [
  'storing',
  'stored',
  'claiming',
  'claimed',
  'starting',
  'responded',
  'recorded',
] as const
export type Death = (typeof DEATHS)[number]

export interface KillableWorker {
  sender: Sender
  append: ReturnType<typeof createAppend>
  /** Makes the worker die when it reaches this moment the next time. */
  dieWhen(death: Death): void
  isDead(): boolean
  died: Promise<void>
  /** Ends the database sessions of the worker. The worker continues. */
  cut(): Promise<void>
}

/**
 * The moments before and after each transaction. A transaction is identified by the name of its first
 * statement.
 */
const MOMENTS: Record<string, { before: Death; after: Death }> = {
  'lock-endpoints-of-accounts': { before: 'storing', after: 'stored' },
  'lock-due-deliveries': { before: 'claiming', after: 'claimed' },
  'update-attempted-deliveries': { before: 'responded', after: 'recorded' },
}

const never = () => new Promise<never>(() => undefined)

/**
 * Starts a real worker that uses a real database. The worker can stop as a killed process does: after its
 * death, none of its calls returns, and PostgreSQL ends its sessions.
 */
export const startKillableWorker = (options: {
  url: string
  /** Connections of the spec, which survive the worker. */
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
  const killable: Database = {
    ...database,
    query: async (query) => (dead ? never() : database.query(query)),
    transaction: async (work) => {
      let first = ''
      let begun: Promise<void> | undefined
      let hasBegun = false
      /** Resolves unless the worker dies at the first statement. */
      const begin = async ({ name = '' }: Query) => {
        first = name
        await at(MOMENTS[first]?.before)
        hasBegun = true
      }
      /** Runs a statement. Until the first statement runs, later statements wait in their order. */
      const inOrder = <T>(query: Query, run: () => Promise<T>): Promise<T> => {
        if (hasBegun) return dead ? never() : run()
        begun ??= begin(query)
        return begun.then(() => inOrder(query, run))
      }
      const result = await database.transaction((tx) =>
        work({
          query: (query) => inOrder(query, () => tx.query(query)),
          send: (query) => void inOrder(query, async () => tx.send(query)),
        }),
      )
      await at(MOMENTS[first]?.after)
      return dead ? never() : result
    },
  }

  const claimMs = options.timeoutMs + 400

  const sender = sendDeliveries({
    database: killable,
    queue: killable,
    claimMs,
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
      claimMs,
      clock,
      logger,
    }),
    logger,
  })
  return {
    sender,
    append: createAppend({
      database: killable,
      clock,
      findClaimLimits: sender.findClaimLimits,
      onAppended: sender.onCreated,
    }),
    dieWhen: (death) => {
      planned = death
    },
    isDead: () => dead,
    died,
    cut,
  }
}
