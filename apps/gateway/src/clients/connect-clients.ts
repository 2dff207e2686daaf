import {
  AccountsServiceDefinition,
  AttachmentsServiceDefinition,
  AuditServiceDefinition,
  type CreateLead,
  ImportsServiceDefinition,
  type LeadPage,
  type LeadPageResult,
  type LeadResult,
  LeadsServiceDefinition,
  type ListedLeads,
  leadCost,
  ReconciliationServiceDefinition,
  type RetrieveLead,
  type VerifiedToken,
  WebhooksServiceDefinition,
} from '@leadwire/contracts'
import {
  type BatcherMeters,
  type CallLimits,
  connectBatches,
  connectGrpc,
  createBatcher,
  errorOfStatus,
  type HealthCheck,
  type Lifecycle,
  ServiceError,
  type Tls,
} from '@leadwire/service-kit'
import { LRUCache } from 'lru-cache'
import { askOnce, halveWhenTooLarge, inTime } from './batches'
import { connectFiles } from './connect-files'
import { watchLogs } from './watch-logs'

const DEADLINE_MS = 10_000
const FILE_IDLE_MS = 30_000
// Nothing of a request is done before its token is verified, so it can be refused early.
const VERIFY_LIMIT_MS = 3000
const ORIGIN_FRESH_MS = 1000

const BATCHED = { maxBatch: 256, maxInFlight: 2, maxQueued: 10_000, maxWaitMs: 3000 }

// A batch is answered as a whole. With a queue for each account, a request waits for one batch of another account at most.
const BY_ACCOUNT = { ...BATCHED, queueOf: ({ accountId }: { accountId: number }) => accountId }

// The response to a read may have a megabyte.
const READS = { ...BY_ACCOUNT, maxBatch: 64 }

// One lead of the largest size, or as many small ones as a message may have.
const CREATES = { ...BY_ACCOUNT, costOf: leadCost, maxBatchCost: 300 }

const isLarge = (item: CreateLead) => leadCost(item) > CREATES.maxBatchCost

export type Clients = ReturnType<typeof connectClients>

const resultOf = <Value>(result: LeadResult['result'] | LeadPageResult['result']): Value => {
  if (result?.$case === 'failure') throw errorOfStatus(result.value)
  if (!result) throw new ServiceError('internal', 'An item came without a result.')
  return result.value as Value
}

const leadOf = ({ result, etag, replayed, created }: LeadResult) => ({
  body: resultOf<Uint8Array>(result),
  etag,
  replayed,
  created,
})

/** The clients of the services. Reads, creates and verifications of tokens are batched: what arrives during a call is the next batch. */
export const connectClients = (
  config: {
    LEADS_SERVICE_URL: string
    WEBHOOK_SERVICE_URL: string
    FILES_SERVICE_URL: readonly URL[]
    /** The first is sent. */
    SERVICE_TOKEN: readonly string[]
  },
  options: {
    tls?: Tls | undefined
    lifecycle: Lifecycle
    meters?: BatcherMeters
    /** How long a stream of a file may stand still. */
    fileIdleMs?: number | undefined
  },
) => {
  const { meters, tls, lifecycle, fileIdleMs: idleMs = FILE_IDLE_MS } = options
  const deadline = { deadlineMs: DEADLINE_MS }
  const access = { tokens: () => config.SERVICE_TOKEN, tls }
  const files = connectFiles({ urls: config.FILES_SERVICE_URL, idleMs, ...access })
  const webhooks = connectGrpc(config.WEBHOOK_SERVICE_URL, { lifecycle, ...access })
  const leads = connectGrpc(config.LEADS_SERVICE_URL, { lifecycle, ...access })
  const batches = connectBatches(config.LEADS_SERVICE_URL, { lifecycle, ...access })
  const webhooksClient = webhooks.client(WebhooksServiceDefinition, deadline)
  const retrieveLeads = batches.method(LeadsServiceDefinition, 'retrieveLeads')
  const listPages = batches.method(LeadsServiceDefinition, 'listLeads')
  const createLeads = batches.method(LeadsServiceDefinition, 'createLeads')
  const verifyTokens = batches.method(AccountsServiceDefinition, 'verifyTokens')

  const readBatched = <Item extends { accountId: number; timeoutMs?: number | undefined }, Result>(
    name: string,
    keyOf: (item: Item) => unknown,
    call: (items: Item[], deadline: number) => Promise<{ results: Result[] }>,
  ) =>
    createBatcher<Item, Result>({
      ...READS,
      meter: meters?.(name),
      send: askOnce((item) => `${item.accountId} ${keyOf(item)}`, halveWhenTooLarge(inTime(call))),
    })
  const retrieveLead = readBatched(
    'retrieve',
    ({ reference }: RetrieveLead) => reference,
    (leads, deadline) => retrieveLeads({ leads }, deadline),
  )
  const listLeads = readBatched(
    'list',
    ({ page }: LeadPage) => page,
    (pages, deadline) => listPages({ pages }, deadline),
  )
  const creates = {
    ...CREATES,
    send: inTime((leads: CreateLead[], deadline) => createLeads({ leads }, deadline)),
  }
  const createLead = createBatcher<CreateLead, LeadResult>({ ...creates, meter: meters?.('create') })
  // In batches of their own: a large lead takes seconds, and two of them at once would hold up all small ones.
  const createLargeLead = createBatcher<CreateLead, LeadResult>({
    ...{ ...creates, maxWaitMs: DEADLINE_MS, meter: meters?.('create_large') },
  })
  const verifyBatched = createBatcher<Uint8Array, VerifiedToken | undefined>({
    ...BATCHED,
    meter: meters?.('verify_token'),
    send: async (hashes, deadlines) => {
      const { results } = await verifyTokens({ hashes: hashes as Buffer[] }, Math.max(...deadlines))
      return results.map(({ token }) => token)
    },
  })

  const accounts = leads.client(AccountsServiceDefinition, deadline)
  const origins = new LRUCache<string, { found: boolean }>({
    ...{ max: 1000, ttl: ORIGIN_FRESH_MS },
    fetchMethod: (origin) => accounts.findOrigin({ origin }),
  })

  return {
    checks: [
      { name: 'leads-service', check: leads.check },
      { name: 'files-service', check: files.check },
      { name: 'webhook-service', check: webhooks.check },
    ] satisfies HealthCheck[],
    files,
    leads: leads.client(LeadsServiceDefinition, deadline),
    accounts,
    attachments: leads.client(AttachmentsServiceDefinition, deadline),
    imports: leads.client(ImportsServiceDefinition, deadline),
    reconciliation: leads.client(ReconciliationServiceDefinition, deadline),
    webhooks: webhooksClient,
    logs: watchLogs(webhooksClient, lifecycle.signal),
    /** Each service has the audit log of what it changes. */
    audits: [leads, webhooks].map((service) => service.client(AuditServiceDefinition, deadline)),
    verifyToken: (hash: Uint8Array) => {
      const deadline = new Date(Date.now() + VERIFY_LIMIT_MS)
      return verifyBatched(hash, { deadline, isGone: () => false }).catch((cause) => {
        const timedOut = cause instanceof ServiceError && cause.code === 'late'
        throw timedOut
          ? new ServiceError('unavailable', 'The token could not be verified in time.', { cause })
          : cause
      })
    },
    /** Whether a publishable token is for pages of the origin. */
    isOrigin: async (origin: string) => (await origins.forceFetch(origin)).found,
    /** The public JSON of a lead, and its entity tag. */
    retrieveLead: async (lead: { accountId: number; reference: string }, limits: CallLimits) =>
      leadOf(await retrieveLead(lead, limits)),
    listLeads: async (page: { accountId: number; page: number }, limits: CallLimits) =>
      resultOf<ListedLeads>((await listLeads(page, limits)).result),
    /** Resolves with the same of the new lead, or of the one that an upsert changed. */
    createLead: async (item: CreateLead, limits: CallLimits) =>
      leadOf(await (isLarge(item) ? createLargeLead : createLead)(item, limits)),
  }
}
