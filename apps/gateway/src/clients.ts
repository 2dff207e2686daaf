import {
  AccountsServiceDefinition,
  AttachmentsServiceDefinition,
  type CreateLead,
  FilesServiceDefinition,
  type GetLead,
  type GetLeadResult,
  type LeadPage,
  type LeadPageResult,
  type LeadResult,
  LeadsServiceDefinition,
  leadCost,
  UploadResponse,
  uploadRequestParts,
  type VerifiedToken,
  WebhooksServiceDefinition,
} from '@leadwire/contracts'
import {
  clientStream,
  connectGrpc,
  connectHttp2,
  converseWith,
  gather,
  type HealthCheck,
  type Lifecycle,
  serviceErrorOf,
} from '@leadwire/service-kit'
import { halveWhenTooLarge } from './halve-when-too-large'
import { keepLeads } from './leads/kept-leads'

const DEADLINE_MS = 5000
const GATHERED = { maxBatch: 256, maxInFlight: 2, maxQueued: 10_000 }

// What travels together is answered together, and accounts take turns: none waits for more than a message of another's.
const byAccount = { laneOf: ({ accountId }: { accountId: number }) => accountId }

// A read's answer may be a megabyte; how large it is nobody knows before.
const READS = { ...GATHERED, ...byAccount, maxBatch: 64 }

// A lead as large as they may be, or as many small ones as a message has.
const CREATES = { ...GATHERED, ...byAccount, costOf: leadCost, maxBatchCost: 300 }

export type Clients = ReturnType<typeof connectClients>

const bodyOf = ({ result }: LeadResult | GetLeadResult): Uint8Array => {
  if (result?.$case === 'body') return result.value
  throw serviceErrorOf(
    result?.$case === 'failure'
      ? result.value
      : { code: 'internal', detail: 'a result without a body came', faults: [] },
  )
}

/**
 * Everything the gateway asks of the services behind it. Reads, creates and token checks are gathered: what arrives
 * while a message is on its way travels in the next one.
 */
export const connectClients = (options: {
  leadsServiceUrl: string
  filesServiceUrl: string
  webhookServiceUrl: string
  lifecycle: Lifecycle
}) => {
  const deadline = { deadlineMs: DEADLINE_MS }
  const leadsConnection = connectGrpc(options.leadsServiceUrl, options.lifecycle)
  const filesConnection = connectGrpc(options.filesServiceUrl, options.lifecycle, { longCalls: true })
  const webhooksConnection = connectGrpc(options.webhookServiceUrl, options.lifecycle)
  const leads = leadsConnection.client(LeadsServiceDefinition, deadline)
  const accounts = leadsConnection.client(AccountsServiceDefinition, deadline)
  const sessions = connectHttp2(options.leadsServiceUrl, options.lifecycle)
  const {
    getLeads,
    listLeads: listPages,
    createLeads: createAll,
  } = converseWith(sessions, LeadsServiceDefinition, deadline)
  const { verifyTokens } = converseWith(sessions, AccountsServiceDefinition, deadline)

  const keptLeads = keepLeads()
  const getLead = gather<GetLead, GetLeadResult>({
    ...READS,
    send: halveWhenTooLarge(async (items) => (await getLeads({ leads: items })).results),
  })
  const listLeads = gather<LeadPage, LeadPageResult>({
    ...READS,
    send: halveWhenTooLarge(async (items) => (await listPages({ pages: items })).results),
  })
  const createLead = gather<CreateLead, LeadResult>({
    ...CREATES,
    send: async (items) => (await createAll({ leads: items })).results,
  })
  const verifyToken = gather<Uint8Array, VerifiedToken | undefined>({
    ...GATHERED,
    send: async (hashes) =>
      (await verifyTokens({ hashes: hashes as Buffer[] })).results.map(({ token }) => token),
  })

  const checks: HealthCheck[] = [
    { name: 'leads-service', check: leadsConnection.check },
    { name: 'files-service', check: filesConnection.check },
    { name: 'webhook-service', check: webhooksConnection.check },
  ]

  return {
    checks,
    leads,
    accounts,
    attachments: leadsConnection.client(AttachmentsServiceDefinition, deadline),
    files: {
      ...filesConnection.client(FilesServiceDefinition, deadline),
      upload: clientStream({
        sessions: connectHttp2(options.filesServiceUrl, options.lifecycle),
        path: `/${FilesServiceDefinition.fullName}/${FilesServiceDefinition.methods.upload.name}`,
        encode: uploadRequestParts,
        decode: UploadResponse.decode,
      }),
    },
    webhooks: webhooksConnection.client(WebhooksServiceDefinition, deadline),
    verifyToken: (hash: Uint8Array) => verifyToken(hash),
    /** The public JSON of one lead. What was read before is used again if leads-service finds it of the same version. */
    getLead: async (lead: { accountId: number; reference: string }) => {
      const kept = keptLeads.get(lead)
      // Each property by its name: of one that is spread V8 makes a hash table.
      const { accountId, reference } = lead
      const read = await getLead({ accountId, reference, knownVersion: kept?.version })
      if (kept && read.result?.$case === 'unchanged') return kept.body
      const body = bodyOf(read)
      if (read.version !== undefined) keptLeads.set(lead, { version: read.version, body })
      return body
    },
    listLeads: async (page: LeadPage) => {
      const listed = await listLeads(page)
      if (listed.failure) throw serviceErrorOf(listed.failure)
      return listed
    },
    /** Creates a lead. Resolves with its public JSON. */
    createLead: async (item: CreateLead) => bodyOf(await createLead(item)),
  }
}
