import {
  createLogger,
  createMetrics,
  type Database,
  type HeldConnection,
  type Query,
} from '@leadwire/service-kit'
import type { Outcome } from '../attempt/make-attempt'
import type { Clock } from '../clock'
import { createWebhookMetrics } from '../webhook-metrics'
import type { ClaimedDelivery } from './claim-deliveries'
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

export interface MortalWorker {
  sender: Sender
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
export const startMortalWorker = (options: {
  /** Whose connections are cut; give the spec itself another. */
  database: Database
  control: Database
  attempt: (delivery: ClaimedDelivery) => Promise<Outcome>
  schedule: number[]
  clock: Clock
}): MortalWorker => {
  const { database, control, clock } = options
  const sessions = new Map<HeldConnection, number | undefined>()
  let dead = false
  let tell = () => {}
  const died = new Promise<void>((resolve) => {
    tell = resolve
  })
  let planned: Death | undefined

  const cut = async () => {
    for (const backend of sessions.values())
      await control.query({ text: 'SELECT pg_terminate_backend($1)', values: [backend] })
  }
  const die = async (): Promise<never> => {
    dead = true
    tell()
    await cut()
    for (const session of sessions.keys()) await session.release()
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
  const hold = async (): Promise<HeldConnection> => {
    const connection = await database.hold()
    const backend = await connection
      .query<{ pid: number }>({ text: 'SELECT pg_backend_pid() AS pid' })
      .catch(() => [])
    if (dead) {
      await connection.release()
      return never()
    }
    sessions.set(connection, backend[0]?.pid)
    // Its death gives back what it still had.
    const unlessDead = (end: () => Promise<void>) => () => {
      if (dead) return never()
      sessions.delete(connection)
      return end()
    }
    return {
      query: (query) => run(query, () => connection.query(query)),
      lost: connection.lost,
      release: unlessDead(connection.release),
      discard: unlessDead(connection.discard),
    }
  }
  const mortal: Database = {
    ...database,
    hold,
    query: (query) => run(query, () => database.query(query)),
    // The one it has stores events without a claim.
    transaction: (work) => run({ name: 'store-events', text: '' }, () => database.transaction(work)),
  }

  const logger = createLogger({ service: 'spec', level: 'silent' })
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
    metrics: createWebhookMetrics({ metrics: createMetrics('spec'), database, clock, logger }),
    logger,
  })
  return {
    sender,
    dieWhen: (death) => {
      planned = death
    },
    isDead: () => dead,
    died,
    cut,
  }
}
