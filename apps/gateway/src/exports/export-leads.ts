import { Readable } from 'node:stream'
import type { ExportLeadsResponse } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { holdPlace } from '../admission/admission'
import { operation } from '../api/operation'
import { limitIdleClient } from '../api/send-file'
import { LeadFilterQuery, leadFilters } from '../leads/lead-query'
import { describe, oneOf, partial } from '../validation/fields'
import { leadCsvHeader, leadCsvRows } from './lead-csv'

const Query = partial({
  format: oneOf(['ndjson', 'csv'], 'By default `ndjson`.', 'csv'),
  bom: Type.Boolean(describe('Begins a CSV file with a byte order mark, for Excel. By default 0.')),
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

/** The text of an export. Each batch is requested after the one before it was sent. */
async function* textOf(
  first: ExportLeadsResponse,
  batch: Batch,
  { format, bom, mayGoOn }: { format: keyof typeof FORMATS; bom: boolean; mayGoOn: () => Promise<void> },
): AsyncGenerator<Buffer | string> {
  const { head, rows } = FORMATS[format]
  yield (bom ? '\uFEFF' : '') + head()
  for (let next = first; next.nextAfter !== undefined; next = await batch(next.nextAfter)) {
    yield rows(next.leads)
    // Closes the connection, so that the client sees that the file is not complete.
    await mayGoOn()
  }
}

export const exportLeads = operation({
  route: 'GET /manage/exports',
  summary: 'Export leads',
  description:
    'All leads with customer and quotes, or those that match the filters, oldest first: as lines of JSON, each a lead as GET /manage/leads/{reference} shows it, or as CSV with a header. Either can be imported again: leads with an `external_id` are then changed instead. A connection that breaks off says that the file is not complete. An account may have four exports at once.',
  query: Query,
  answer: {
    description: 'The leads.',
    types: Object.values(FORMATS).map(({ type }) => type.split(';')[0]!),
  },
  problems: ['invalid'],
  handler: async (call) => {
    const { request, reply, accountId, clients, limits, recheck, dependencies } = call
    const { admission, draining } = dependencies
    const { format = 'ndjson', bom = false, ...query } = await call.valid()
    if (bom && format !== 'csv')
      throw ServiceError.invalid({ bom: ['The bom may be given only with the format csv.'] })
    reply.headers({
      'content-type': FORMATS[format].type,
      'content-disposition': `attachment; filename="leads.${format}"`,
    })
    if (request.method === 'HEAD') return undefined
    await holdPlace(reply, admission.exports(accountId))
    const asked = { accountId, filters: leadFilters(query) }
    const signal = limits.goneSignal()
    // Each call has its own deadline: the export takes as long as its client does.
    const batch: Batch = (after) => clients.leads.exportLeads({ ...asked, after }, { signal })
    // Before the first byte: an error here is answered with its status.
    const first = await batch()
    limitIdleClient(call)
    const mayGoOn = async () => {
      draining.throwIfAborted()
      await recheck()
    }
    return Readable.from(textOf(first, batch, { format, bom, mayGoOn }), { objectMode: false })
  },
})
