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
import { askOnce } from './ask-once'
import { connectFiles } from './connect-files'
import { halveWhenTooLarge } from './halve-when-too-large'

const DEADLINE_MS = 10_000
const FILE_IDLE_MS = 30_000
// Nothing of a request is done before its token is verified: so soon it can be told that it is in vain.
const VERIFY_LIMIT_MS = 3000
const GATHERED = { maxBatch: 256, maxInFlight: 2, maxQueued: 10_000, maxWaitMs: 3000 }

// What travels together is answered together, and accounts take turns: none waits for more than a message of another's.
const byAccount = { queueOf: ({ accountId }: { accountId: number }) => accountId }

// The response to a read may have a megabyte; how large it is nobody knows before.
const READS = { ...GATHERED, ...byAccount, maxBatch: 64 }

// A lead as large as they may be, or as many small ones as a message has.
const CREATES = { ...GATHERED, ...byAccount, costOf: leadCost, maxBatchCost: 300 }

const isLate = (error: unknown) => error instanceof ServiceError && error.code === 'late'

const isLarge = (item: CreateLead) => leadCost(item) > CREATES.maxBatchCost

export type Clients = ReturnType<typeof connectClients>

const resultOf = <Value>(result: LeadResult['result'] | LeadPageResult['result']): Value => {
  if (result?.$case === 'failure') throw errorOfStatus(result.value)
  if (!result) throw new ServiceError('internal', 'An item came without a result.')
  return result.value as Value
}

const leadOf = ({ result, etag, replayed }: LeadResult) => ({
  body: resultOf<Uint8Array>(result),
  etag,
  replayed,
})

/**
 * Sends batches with `call`. Each item says how long whoever asked for it still waits, and the call is waited for until
 * nobody waits for any of them.
 */
const inTime =
  <Item extends { timeoutMs?: number | undefined }, Result>(
    call: (items: Item[], deadline: number) => Promise<{ results: Result[] }>,
  ) =>
  async (items: Item[], deadlines: number[]): Promise<Result[]> => {
    for (const [index, item] of items.entries()) {
      item.timeoutMs = Math.max(1, deadlines[index]! - Date.now())
    }
    return (await call(items, Math.max(...deadlines))).results
  }

/**
 * Everything the gateway asks of the services behind it. Reads, creates and token checks are batched: what arrives
 * while a call is on its way travels in the next one.
 */
export const connectClients = (options: {
  leadsServiceUrl: string
  filesServiceUrls: readonly URL[]
  /** How long a stream of a file may stand still. */
  fileIdleMs?: number
  webhookServiceUrl: string
  /** What services show each other; the first is sent. */
  tokens: readonly string[]
  /** What services show each other of themselves, where they speak TLS. */
  tls?: Tls | undefined
  lifecycle: Lifecycle
  meters?: BatcherMeters
}) => {
  const { meters } = options
  const deadline = { deadlineMs: DEADLINE_MS }
  const leadsConnection = connectGrpc(options.leadsServiceUrl, options)
  const files = connectFiles({
    urls: options.filesServiceUrls,
    tokens: options.tokens,
    tls: options.tls,
    idleMs: options.fileIdleMs ?? FILE_IDLE_MS,
  })
  const webhooksConnection = connectGrpc(options.webhookServiceUrl, options)
  const leads = leadsConnection.client(LeadsServiceDefinition, deadline)
  const accounts = leadsConnection.client(AccountsServiceDefinition, deadline)
  const batches = connectBatches(options.leadsServiceUrl, options)
  const retrieveLeads = batches.method(LeadsServiceDefinition, 'retrieveLeads')
  const listPages = batches.method(LeadsServiceDefinition, 'listLeads')
  const createAll = batches.method(LeadsServiceDefinition, 'createLeads')
  const verifyTokens = batches.method(AccountsServiceDefinition, 'verifyTokens')

  const retrieveLead = createBatcher<RetrieveLead, LeadResult>({
    ...READS,
    meter: meters?.('retrieve'),
    send: askOnce(
      ({ accountId, reference }) => `${accountId} ${reference}`,
      halveWhenTooLarge(inTime((leads, deadline) => retrieveLeads({ leads }, deadline))),
    ),
  })
  const listLeads = createBatcher<LeadPage, LeadPageResult>({
    ...READS,
    meter: meters?.('list'),
    send: askOnce(
      ({ accountId, page }) => `${accountId} ${page}`,
      halveWhenTooLarge(inTime((pages, deadline) => listPages({ pages }, deadline))),
    ),
  })
  const createLeads = inTime((leads: CreateLead[], deadline) => createAll({ leads }, deadline))
  const createLead = createBatcher<CreateLead, LeadResult>({
    ...CREATES,
    meter: meters?.('create'),
    send: createLeads,
  })
  // On their own: a call with one takes seconds, and two of them at once would hold up everybody's small ones.
  const createLargeLead = createBatcher<CreateLead, LeadResult>({
    ...CREATES,
    ...{ maxWaitMs: DEADLINE_MS, meter: meters?.('create_large') },
    send: createLeads,
  })
  const verifyBatched = createBatcher<Uint8Array, VerifiedToken | undefined>({
    ...GATHERED,
    meter: meters?.('verify_token'),
    send: async (hashes, deadlines) => {
      const { results } = await verifyTokens({ hashes: hashes as Buffer[] }, Math.max(...deadlines))
      return results.map(({ token }) => token)
    },
  })
  const verifyToken = async (hash: Uint8Array) => {
    const deadline = new Date(Date.now() + VERIFY_LIMIT_MS)
    return verifyBatched(hash, { deadline, isGone: () => false }).catch((cause) => {
      throw isLate(cause)
        ? new ServiceError('unavailable', 'The token could not be verified in time.', { cause })
        : cause
    })
  }

  const checks: HealthCheck[] = [
    { name: 'leads-service', check: leadsConnection.check },
    { name: 'files-service', check: files.check },
    { name: 'webhook-service', check: webhooksConnection.check },
  ]

  return {
    checks,
    leads,
    accounts,
    attachments: leadsConnection.client(AttachmentsServiceDefinition, deadline),
    imports: leadsConnection.client(ImportsServiceDefinition, deadline),
    reconciliation: leadsConnection.client(ReconciliationServiceDefinition, deadline),
    files,
    webhooks: webhooksConnection.client(WebhooksServiceDefinition, deadline),
    /** The audit logs: each service has one of what it changes. */
    audits: [leadsConnection, webhooksConnection].map((connection) =>
      connection.client(AuditServiceDefinition, deadline),
    ),
    verifyToken,
    /** The public JSON of one lead, and its entity tag. */
    retrieveLead: async (lead: { accountId: number; reference: string }, limits: CallLimits) =>
      leadOf(await retrieveLead(lead, limits)),
    listLeads: async (page: { accountId: number; page: number }, limits: CallLimits) =>
      resultOf<ListedLeads>((await listLeads(page, limits)).result),
    /** Creates a lead. Resolves with the same of it. */
    createLead: async (item: CreateLead, limits: CallLimits) =>
      leadOf(await (isLarge(item) ? createLargeLead : createLead)(item, limits)),
  }
}
