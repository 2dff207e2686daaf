import { randomUUID } from 'node:crypto'
import {
  AccountsServiceDefinition,
  AttachmentsServiceDefinition,
  AuditServiceDefinition,
  type CreateLead,
  Event,
  FiguresServiceDefinition,
  ImportsServiceDefinition,
  type LeadPageResult,
  type LeadResult,
  LeadsServiceDefinition,
  type ListedLeads,
  leadJsonFormat,
  NewLead,
  type NewQuoteItem,
  WebhooksServiceDefinition,
} from '@leadwire/contracts'
import {
  connectBatches,
  connectDatabase,
  connectGrpc,
  createGrpcServer,
  createLifecycle,
  createLogger,
  createSealer,
  type Database,
  type Lifecycle,
  migrate,
  readRpcStatus,
} from '@leadwire/service-kit'
import { createDatabase, createTemplateDatabase, eventually, gate } from '@leadwire/test-kit'
import { addLeadsService } from './add-leads-service'
import { migrations } from './database/migrations'
import type { Limits } from './leads/create/refuse-leads'
import type { OutboxEvent } from './outbox/record-events'
import type { Quotas } from './quotas/require-room'

export const ASSETS_URL = 'https://assets.example.test'

/** The window of suspected duplicates: 90 days. */
export const WINDOW_MS = 90 * 24 * 3_600_000

export const TIME_ZONE = 'Europe/London'

export const LIMITS: Limits = { maxQuotes: 20, maxItems: 250, maxEventBytes: 1_000_000 }

export const QUOTAS: Quotas = { tokens: 1000, users: 1000, images: 1000 }

const logger = createLogger({ service: 'spec', level: process.env['LOG_LEVEL'] ?? 'silent' })

/**
 * How long a call of a spec waits. Far longer than in production, so that a busy machine refuses no call of a
 * spec that sends many calls at once.
 */
const PATIENCE_MS = 60_000

const migrated = () => createTemplateDatabase('leads', (url) => migrate(url, migrations))

const connectTo = (target: string, lifecycle: Lifecycle) => {
  const deadline = { deadlineMs: PATIENCE_MS }
  const connection = connectGrpc(target, { lifecycle, tokens: [] })
  const batches = connectBatches(target, { lifecycle, tokens: [] })
  const batched =
    <Batch, Response>(method: (batch: Batch, deadline: number) => Promise<Response>) =>
    (batch: Batch) =>
      method(batch, Date.now() + deadline.deadlineMs)
  return {
    leads: {
      ...connection.client(LeadsServiceDefinition, deadline),
      retrieveLeads: batched(batches.method(LeadsServiceDefinition, 'retrieveLeads')),
      listLeads: batched(batches.method(LeadsServiceDefinition, 'listLeads')),
      createLeads: batched(batches.method(LeadsServiceDefinition, 'createLeads')),
    },
    accounts: {
      ...connection.client(AccountsServiceDefinition, deadline),
      verifyTokens: batched(batches.method(AccountsServiceDefinition, 'verifyTokens')),
    },
    attachments: connection.client(AttachmentsServiceDefinition, deadline),
    audit: connection.client(AuditServiceDefinition, deadline),
    imports: connection.client(ImportsServiceDefinition, deadline),
    figures: connection.client(FiguresServiceDefinition, deadline),
  }
}

/**
 * Starts two copies of leads-service on one new database. Specs call the copies over gRPC, as gateways do.
 * With `otherFormat`, the second copy renders the public JSON in the format of another release. By default,
 * nothing listens at `webhooksTarget`.
 */
export const startLeadsService = async (
  over: Partial<Limits> = {},
  {
    otherFormat,
    quotas,
    webhooksTarget = '127.0.0.1:9',
    poolSize = 6,
  }: { otherFormat?: number; quotas?: Quotas; webhooksTarget?: string; poolSize?: number } = {},
) => {
  const database = await createDatabase({ name: 'leads', template: await migrated() })
  const lifecycle = createLifecycle(logger)
  const db = connectDatabase({ url: database.url, poolSize, lifecycle })
  const committed: OutboxEvent[] = []
  const startCopy = async (format?: number) => {
    const server = createGrpcServer({ logger, lifecycle, tokens: [], maxAccountWaitMs: PATIENCE_MS })
    const onCommitted = (events: OutboxEvent[]) => void committed.push(...events)
    addLeadsService(server, {
      database: db,
      webhooks: connectGrpc(webhooksTarget, { lifecycle, tokens: [] }).client(WebhooksServiceDefinition, {
        deadlineMs: PATIENCE_MS,
      }),
      assetsUrl: ASSETS_URL,
      ...(format !== undefined && { jsonFormat: leadJsonFormat(ASSETS_URL, format) }),
      limits: { ...LIMITS, ...over },
      quotas: quotas ?? QUOTAS,
      logger,
      draining: lifecycle.signal,
      sealer: createSealer([Buffer.alloc(32, 7)]),
      backupRetentionDays: 30,
      duplicateWindowMs: WINDOW_MS,
      timeZone: TIME_ZONE,
      onCommitted,
    })
    const target = `127.0.0.1:${await server.listen({ host: '127.0.0.1', port: 0 })}`
    const clients = connectTo(target, lifecycle)
    // Connects for batches, for unary calls and to PostgreSQL before the first call of a spec. On a busy
    // machine, connecting may take longer than a call waits.
    await eventually(() => clients.leads.retrieveLeads({ leads: [] }))
    await eventually(() => clients.accounts.listAccounts({}))
    return { target, ...clients }
  }
  const copy = await startCopy()
  const otherCopy = await startCopy(otherFormat)
  return {
    db,
    database,
    logger,
    lifecycle,
    /** The events that both copies have passed to `onCommitted`, oldest first. */
    committed,
    ...copy,
    /** The client of the second copy. */
    otherLeads: otherCopy.leads,
    stop: async () => {
      await lifecycle.stop()
      await database.drop()
    },
  }
}

export type RunningLeadsService = Awaited<ReturnType<typeof startLeadsService>>

export const newAccount = async ({ accounts }: RunningLeadsService) => {
  const { account, token, secret } = await accounts.createAccount({ name: 'Clear Windows' })
  return { accountId: account!.id, apiKey: account!.apiKey, tokenId: token!.id, secret }
}

/** Counts the statements that wait for a lock. */
export const lockWaiters = async ({ db }: { db: Database }) =>
  (
    await db.query<{ count: number }>({
      text: `SELECT count(*)::int FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    })
  )[0]!.count

/** Locks an account's row, so that creates wait. `waiters` counts the statements that wait for a lock. */
export const holdAccount = async ({ db }: { db: Database }, accountId: number) => {
  const [held, ended] = [gate(), gate()]
  const holding = db.transaction(async (tx) => {
    await tx.query({ text: 'SELECT id FROM accounts WHERE id = $1 FOR UPDATE', values: [accountId] })
    held.open()
    await ended.opened
  })
  await held.opened
  return {
    release: () => {
      ended.open()
      return holding
    },
    waiters: () => lockWaiters({ db }),
  }
}

export const newLead = (over: Partial<NewLead> = {}): NewLead =>
  NewLead.fromPartial({
    name: 'Bay window',
    firstName: 'Ada',
    lastName: 'Byron',
    email: 'ada@example.test',
    phone: '01632 960123',
    postcode: 'SW1A 1AA',
    referrer: 'Website',
    status: 'open',
    userAgent: 'curl/8.5.0',
    ip: '203.0.113.7',
    ...over,
  })

export const newItem = (accountId: number, over: Partial<CreateLead> = {}): CreateLead => ({
  accountId,
  lead: newLead(),
  idempotency: undefined,
  traceparent: '',
  actor: undefined,
  ...over,
})

export const newImage = async (
  { attachments }: RunningLeadsService,
  accountId: number,
  { alt, name = 'w.png' }: { alt?: string; name?: string } = {},
) => {
  const { body } = await attachments.createImage({
    accountId,
    file: {
      key: `images/${randomUUID()}.png`,
      name,
      fileName: name,
      fileSize: 3,
      contentType: 'image/png',
    },
    alt,
  })
  return JSON.parse(body.toString()).data as { id: number; url: string }
}

export const itemWith = (image: { id: number }, over: Partial<NewQuoteItem> = {}): NewQuoteItem => ({
  productStyleId: 3,
  name: 'Casement',
  price: 129_900,
  format: 'range',
  hidden: false,
  status: 'active',
  cost: undefined,
  margin: undefined,
  tax: undefined,
  minimum: undefined,
  maximum: undefined,
  productStyleSku: 'CAS-1',
  productStyleName: 'Casement',
  productName: 'Window',
  options: '{}',
  imageId: image.id,
  ...over,
})

export const buildQuote = (...items: NewQuoteItem[]) => ({ status: 'complete', items })

/** Returns the result of each item of a batch: the parsed body, or the item's error as `failure`. */
export const readOutcomes = (response: { results: LeadResult[] }) =>
  response.results.map(({ result }) =>
    result?.$case === 'body'
      ? JSON.parse(result.value.toString()).data
      : { failure: result && readRpcStatus(result.value) },
  )

/** Returns a page of a batch. Throws the error of a page that failed. */
export const readLeadPage = ({ result }: LeadPageResult): ListedLeads => {
  if (result?.$case === 'page') return result.value
  throw result ? readRpcStatus(result.value) : new Error('the page has no result')
}

/** Reads the events in the outbox, oldest first. */
export const readOutbox = async ({ db }: RunningLeadsService) => {
  const rows = await db.query<{ payload: Buffer }>({ text: 'SELECT payload FROM outbox ORDER BY created_at' })
  return rows.map(({ payload }) => Event.decode(payload))
}
