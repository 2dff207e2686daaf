import { Readable } from 'node:stream'
import type { ExportLeadsResponse } from '@leadwire/contracts'
import { describe, enumeration, partial } from '@leadwire/requests'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { holdPlace } from '../admission/admission'
import { operation } from '../api/operation'
import { LeadFilterQuery, leadFilters } from '../leads/lead-query'
import { leadCsvHeader, leadCsvRows } from './lead-csv'

const Query = partial({
  format: enumeration(['ndjson', 'csv'], 'Format of the export. Default `ndjson`.', 'csv'),
  bom: Type.Boolean(describe('Whether to start a CSV file with a byte order mark, for Excel. Default 0.')),
  ...LeadFilterQuery.properties,
})

const FORMATS = {
  ndjson: {
    type: 'application/x-ndjson',
    head: () => '',
    rows: (leads: Uint8Array[]) => Buffer.concat(leads.flatMap((lead) => [lead, Buffer.from('\n')])),
  },
  csv: { type: 'text/csv; charset=utf-8; header=present', head: leadCsvHeader, rows: leadCsvRows },
}

type Batch = (after?: number) => Promise<ExportLeadsResponse>

/** Yields the text of an export. Requests each batch only after the previous batch was sent. */
async function* writeExport(
  first: ExportLeadsResponse,
  batch: Batch,
  { format, bom, mayGoOn }: { format: keyof typeof FORMATS; bom: boolean; mayGoOn: () => Promise<void> },
): AsyncGenerator<Buffer | string> {
  const { head, rows } = FORMATS[format]
  yield (bom ? '\uFEFF' : '') + head()
  for (let next = first; next.nextAfter !== undefined; next = await batch(next.nextAfter)) {
    yield rows(next.leads)
    // If `mayGoOn` throws, the connection is closed, and the client sees that the file is incomplete.
    await mayGoOn()
  }
}

export const exportLeads = operation({
  route: 'GET /manage/exports',
  summary: 'Export leads',
  description:
    'Returns all leads, or the leads that match the filters, with customer and quotes, oldest first. The format is NDJSON, with each lead as in GET /manage/leads/{reference}, or CSV with a header. Both formats can be imported again. An import into the same account updates the leads that have an `external_id`, and creates a new lead for each of the other leads. If the connection closes early, the file is incomplete. An account can run four exports at once.',
  query: Query,
  answer: {
    description: 'The exported leads.',
    types: Object.values(FORMATS).map(({ type }) => type.split(';')[0]!),
  },
  problems: ['invalid'],
  handler: async (call) => {
    const { request, reply, accountId, clients, limits, recheck, dependencies } = call
    const { admission, draining } = dependencies
    const { format = 'ndjson', bom = false, ...query } = await call.valid()
    if (bom && format !== 'csv') throw ServiceError.invalid({ bom: ['Send bom only with the format csv.'] })
    reply.headers({
      'content-type': FORMATS[format].type,
      'content-disposition': `attachment; filename="leads.${format}"`,
    })
    if (request.method === 'HEAD') return undefined
    await holdPlace(reply, admission.exports(accountId))
    const asked = { accountId, filters: leadFilters(query) }
    const signal = limits.goneSignal()
    // Gives the calls no deadline, because the time of an export depends on its client.
    const { actor } = limits
    const batch: Batch = (after) => clients.leads.exportLeads({ ...asked, after }, { signal, actor })
    // Fetches the first batch before any byte is sent, so that an error still gets its status.
    const first = await batch()
    const mayGoOn = async () => {
      draining.throwIfAborted()
      await recheck()
    }
    return Readable.from(writeExport(first, batch, { format, bom, mayGoOn }), { objectMode: false })
  },
})
