import {
  AccountsServiceDefinition,
  AttachmentsServiceDefinition,
  AuditServiceDefinition,
  type CreateLead,
  FiguresServiceDefinition,
  ImportsServiceDefinition,
  type LeadPageResult,
  type LeadResult,
  LeadsServiceDefinition,
  type ListedLeads,
  ReconciliationServiceDefinition,
  WebhooksServiceDefinition,
} from '@leadwire/contracts'
import {
  type BatcherMeters,
  type CallLimits,
  connectBatches,
  connectGrpc,
  type HealthCheck,
  type Lifecycle,
  readRpcStatus,
  ServiceError,
  type Tls,
} from '@leadwire/service-kit'
import { LRUCache } from 'lru-cache'
import { createBatchedCalls } from './batch-calls'
import { connectFiles } from './connect-files'
import { watchLogs } from './watch-logs'

const DEADLINE_MS = 10_000
const FILE_IDLE_MS = 30_000
// The time limit for the verification of a token. This limit is shorter than the deadline of a request, so
// that the client gets a 503 early. No work of the request has begun by then, so the client can safely repeat
// the request.
const VERIFY_LIMIT_MS = 3000
const ORIGIN_FRESH_MS = 1000

export type Clients = ReturnType<typeof connectClients>

/** Returns the value in an item's result. Throws the error in the result. */
const readResult = <Value>(result: LeadResult['result'] | LeadPageResult['result']): Value => {
  if (result?.$case === 'failure') throw readRpcStatus(result.value)
  if (!result) throw new ServiceError('internal', 'leads-service returned an item without a result.')
  return result.value as Value
}

const readLead = ({ result, etag, replayed, created }: LeadResult) => ({
  body: readResult<Uint8Array>(result),
  etag,
  replayed,
  created,
})

/** Connects the gateway to the services. The calls of most requests are batched (batch-calls.ts). */
export const connectClients = (
  config: {
    LEADS_SERVICE_URL: string
    WEBHOOK_SERVICE_URL: string
    FILES_SERVICE_URL: readonly URL[]
    /** The clients send the first of these tokens. */
    SERVICE_TOKEN: readonly string[]
  },
  options: {
    tls?: Tls | undefined
    lifecycle: Lifecycle
    meters?: BatcherMeters
    /** How long the stream of a file may be idle, in milliseconds. */
    fileIdleMs?: number | undefined
    /** How long the verification of a token may take, in milliseconds. */
    verifyLimitMs?: number
  },
) => {
  const { meters, tls, lifecycle, fileIdleMs: idleMs = FILE_IDLE_MS } = options
  const { verifyLimitMs = VERIFY_LIMIT_MS } = options
  const deadline = { deadlineMs: DEADLINE_MS }
  const access = { tokens: () => config.SERVICE_TOKEN, tls }
  const files = connectFiles({ urls: config.FILES_SERVICE_URL, idleMs, ...access })
  const webhooks = connectGrpc(config.WEBHOOK_SERVICE_URL, { lifecycle, ...access })
  const waitingWebhooks = connectGrpc(config.WEBHOOK_SERVICE_URL, { lifecycle, ...access }, { waits: true })
  const leads = connectGrpc(config.LEADS_SERVICE_URL, { lifecycle, ...access })
  const streams = connectBatches(config.LEADS_SERVICE_URL, { lifecycle, ...access })
  const batched = createBatchedCalls(streams, meters)
  const leadsClient = leads.client(LeadsServiceDefinition, deadline)
  const webhooksClient = webhooks.client(WebhooksServiceDefinition, deadline)

  const accounts = leads.client(AccountsServiceDefinition, deadline)
  const origins = new LRUCache<string, { found: boolean }>({
    max: 1000,
    ttl: ORIGIN_FRESH_MS,
    fetchMethod: (origin) => accounts.findOrigin({ origin }),
  })

  return {
    checks: [
      { name: 'leads-service', check: leads.check },
      { name: 'files-service', check: files.check },
      { name: 'webhook-service', check: webhooks.check },
    ] satisfies HealthCheck[],
    files,
    leads: leadsClient,
    accounts,
    attachments: leads.client(AttachmentsServiceDefinition, deadline),
    imports: leads.client(ImportsServiceDefinition, deadline),
    figures: leads.client(FiguresServiceDefinition, deadline),
    reconciliation: leads.client(ReconciliationServiceDefinition, deadline),
    webhooks: webhooksClient,
    /**
     * Uses the connection for calls that wait for seconds (`waits`), because webhook-service responds only
     * after the test delivery, which takes up to 5 s.
     */
    testWebhookEndpoint: waitingWebhooks.client(WebhooksServiceDefinition, deadline).testWebhookEndpoint,
    logs: watchLogs(webhooksClient, lifecycle.signal),
    /** Each service has a separate audit log of the changes that it makes. */
    audits: [leads, webhooks].map((service) => service.client(AuditServiceDefinition, deadline)),
    verifyToken: async (hash: Uint8Array) => {
      const limits = { deadline: new Date(Date.now() + verifyLimitMs), isGone: () => false }
      try {
        return await batched.verifyToken(hash, limits)
      } catch (cause) {
        if (!(cause instanceof ServiceError && cause.code === 'late')) throw cause
        throw new ServiceError('unavailable', 'The token could not be verified in time. Try again shortly.', {
          cause,
        })
      }
    },
    /** Returns whether at least one publishable token lists the origin. */
    isOrigin: async (origin: string) => (await origins.forceFetch(origin)).found,
    /** Resolves with the public JSON of a lead, and its entity tag. */
    retrieveLead: async (lead: { accountId: number; reference: string }, limits: CallLimits) =>
      readLead(await batched.retrieveLead(lead, limits)),
    listLeads: async (page: { accountId: number; page: number }, limits: CallLimits) =>
      readResult<ListedLeads>((await batched.listPage(page, limits)).result),
    /** Resolves with the public JSON of the new lead, and its entity tag. */
    createLead: async (item: CreateLead, limits: CallLimits) =>
      readLead(await batched.createLead(item, limits)),
    /**
     * Creates a lead, or updates the lead with the same external id. This call is not batched, because it
     * waits for other writes with the same external id.
     */
    upsertLead: (item: CreateLead, limits: CallLimits) => leadsClient.upsertLead(item, limits),
  }
}
