import { createLogger, createMetrics, type Database, type Query } from '@leadwire/service-kit'
import type { Outcome } from '../attempt/make-attempt'
import type { Clock } from '../clock'
import { createWebhookMetrics } from '../webhook-metrics'
import type { ClaimedDelivery } from './claim-deliveries'
import { type Sender, sendDeliveries } from './send-deliveries'

/** The moments between a claim and its commit at which a worker can be made to die. */
export const DEATHS = ['claiming', 'claimed', 'starting', 'answered', 'recorded'] as const
export type Death = (typeof DEATHS)[number]

export interface MortalWorker {
  sender: Sender
  /** It dies when it comes to this moment next. */
  dieWhen(death: Death): void
  isDead(): boolean
  /** Ends its session from the database's side; the worker lives on. */
  cut(): Promise<void>
}

interface PgConnection {
  processID: number
  query(query: Query): Promise<unknown>
}

const never = () => new Promise<never>(() => undefined)

/**
 * A real worker over a real database that stops in the middle as a killed process does: from that moment on nothing it
 * asks is answered, and PostgreSQL ends its session.
 */
export const startMortalWorker = (options: {
  /** Whose connections are cut; give the spec itself another. */
  database: Database
  control: Database
  attempt: (delivery: ClaimedDelivery) => Promise<Outcome>
  schedule: number[]
  clock: Clock
}): MortalWorker => {
  const { database, control, clock } = options
  let session: PgConnection | undefined
  let dead = false
  let planned: Death | undefined

  const cut = async () => {
    if (session) await control.query({ text: 'SELECT pg_terminate_backend($1)', values: [session.processID] })
  }
  const die = async (): Promise<never> => {
    dead = true
    await cut()
    if (session) await database.knex.client.releaseConnection(session)
    return never()
  }
  const at = async (death: Death) => {
    if (dead) return never()
    return planned === death ? die() : undefined
  }
  const run = async <T>(query: Query, real: () => Promise<T>): Promise<T> => {
    if (dead) return never()
    if (query.name === 'claim-deliveries') await at('claiming')
    if (query.name === 'record-attempts') await at('answered')
    const result = await real()
    if (query.name === 'claim-deliveries') await at('claimed')
    if (query.name === 'record-attempts') await at('recorded')
    return dead ? never() : result
  }
  const client = {
    acquireConnection: async () => {
      const connection = (await database.knex.client.acquireConnection()) as PgConnection
      session = connection
      return { query: (query: Query) => run(query, () => connection.query(query)), connection }
    },
    releaseConnection: ({ connection }: { connection: PgConnection }) => {
      if (session === connection) session = undefined
      return dead ? never() : database.knex.client.releaseConnection(connection)
    },
  }
  const mortal = {
    ...database,
    query: (query: Query) => run(query, () => database.query(query)),
    knex: { client },
  } as unknown as Database

  const sender = sendDeliveries({
    database: mortal,
    attempt: async (delivery) => {
      await at('starting')
      return options.attempt(delivery)
    },
    schedule: options.schedule,
    concurrency: 16,
    endpointConcurrency: 4,
    clock,
    metrics: createWebhookMetrics({ metrics: createMetrics('spec'), database, clock }),
    logger: createLogger({ service: 'spec', level: 'silent' }),
  })
  return {
    sender,
    dieWhen: (death) => {
      planned = death
    },
    isDead: () => dead,
    cut,
  }
}
