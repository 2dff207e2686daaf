import { Readable } from 'node:stream'
import type { ExportLeadsResponse } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { createAccountLimit } from '../admission/account-limiter'
import { limitsOf } from '../api/call-limits'
import type { Dependencies } from '../api/dependencies'
import { describe } from '../api/describe'
import { serveFile } from '../api/send-file'
import { queryOf } from '../body/query'
import { LeadFilterQuery, leadFilters } from '../leads/lead-query'
import { notes, oneOf } from '../validation/fields'
import { leadCsvHeader, leadCsvRows } from './lead-csv'

const AT_ONCE = 4

const Query = Type.Object({
  format: Type.Optional(oneOf(['ndjson', 'csv'], 'By default `ndjson`.', 'csv')),
  bom: Type.Optional(
    Type.Boolean(notes('Begins a CSV file with a byte order mark, for Excel. By default 0.')),
  ),
  ...LeadFilterQuery.properties,
})

const ONLY_CSV = 'The bom may be given only with the format csv.'

const FORMATS = {
  ndjson: {
    type: 'application/x-ndjson',
    head: () => '',
    rows: (leads: Uint8Array[]) => Buffer.concat(leads.flatMap((lead) => [lead, Buffer.from('\n')])),
  },
  csv: { type: 'text/csv; charset=utf-8; header=present', head: leadCsvHeader, rows: leadCsvRows },
}

type Batch = (after?: number) => Promise<ExportLeadsResponse>

/** The text of an export. No batch is asked for before the one before it has left. */
async function* textOf(
  first: ExportLeadsResponse,
  batch: Batch,
  { format, bom, draining }: { format: keyof typeof FORMATS; bom: boolean; draining: AbortSignal },
): AsyncGenerator<Buffer | string> {
  const { head, rows } = FORMATS[format]
  yield (bom ? '\uFEFF' : '') + head()
  for (
    let { leads, nextAfter } = first;
    nextAfter !== undefined;
    { leads, nextAfter } = await batch(nextAfter)
  ) {
    yield rows(leads)
    // Breaks the connection off: the client sees that it does not have all.
    draining.throwIfAborted()
  }
}

/** GET /manage/exports: the leads of an account that match, as a file. */
export const exportLeads = (app: FastifyInstance, dependencies: Dependencies): void => {
  const { authenticate, createCheck, clients, draining, fileIdleMs } = dependencies
  const check = createCheck(Query)
  const enter = createAccountLimit(AT_ONCE, 'exports')
  const options = {
    onRequest: authenticate('manage'),
    schema: describe({
      operationId: 'exportLeads',
      tag: 'Management',
      summary: 'Export leads',
      description:
        'All leads with customer and quotes, or those that match the filters, oldest first: as lines of JSON, each a lead as Retrieve Lead shows it, or as CSV with a header. Either can be imported again. A connection that breaks off says that the file is not complete. An account may have four exports at once.',
      scope: 'manage',
      query: Query,
      answer: {
        description: 'The leads.',
        types: Object.values(FORMATS).map(({ type }) => type.split(';')[0]!),
      },
      problems: ['invalid'],
    }),
  }
  serveFile(app, '/manage/exports', options, async (request, reply) => {
    const { value, faults } = check(queryOf(request, Object.keys(Query.properties)))
    if (faults) throw ServiceError.invalid(faults)
    const { format = 'ndjson', bom = false, ...query } = value
    if (bom && format !== 'csv') throw ServiceError.invalid({ bom: [ONLY_CSV] })
    reply.headers({
      'content-type': FORMATS[format].type,
      'content-disposition': `attachment; filename="leads.${format}"`,
    })
    if (request.method === 'HEAD') return reply.send()
    const { accountId } = request.principal
    const leave = enter(accountId)
    reply.raw.once('close', leave)
    const asked = { accountId, filters: leadFilters(query) }
    const signal = limitsOf(reply).goneSignal()
    // Each has a deadline of its own: the export takes as long as its client does.
    const batch: Batch = (after) => clients.leads.exportLeads({ ...asked, after }, { signal })
    // Before the first byte: what fails here is answered with its status.
    const first = await batch()
    reply.raw.setTimeout(fileIdleMs, () => request.raw.destroy())
    return reply.send(Readable.from(textOf(first, batch, { format, bom, draining }), { objectMode: false }))
  })
}
