import { Readable } from 'node:stream'
import { Temporal } from '@js-temporal/polyfill'
import type { ExportLeadsResponse } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { serveFile } from '../attachments/serve-file'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { createAccountLimit } from '../http/account-limit'
import { limitsOf } from '../http/call-limits'
import { oneOf, text } from '../validation/fields'
import { textFaults } from '../validation/text-faults'
import { leadCsvHeader, leadCsvRows } from './lead-csv'

const AT_ONCE = 4

const Query = Type.Object({
  format: Type.Optional(oneOf(['ndjson', 'csv'], 'By default `ndjson`.', 'csv')),
  created_from: Type.Optional(
    text('Leads created then and later, ISO 8601 with an offset.', '2026-11-01T00:00:00Z', {
      format: 'instant',
    }),
  ),
  created_to: Type.Optional(
    text('Leads created before then, ISO 8601 with an offset.', '2026-12-01T00:00:00Z', {
      format: 'instant',
    }),
  ),
})

const FORMATS = {
  ndjson: {
    type: 'application/x-ndjson',
    head: () => '',
    rows: (leads: Uint8Array[]) => Buffer.concat(leads.flatMap((lead) => [lead, Buffer.from('\n')])),
  },
  csv: { type: 'text/csv; charset=utf-8; header=present', head: leadCsvHeader, rows: leadCsvRows },
}

const instantOf = (given: string | undefined) => given && Temporal.Instant.from(given).toString()

type Portion = (after?: number) => Promise<ExportLeadsResponse>

/** Asks for portions. Each has a deadline of its own: the export takes as long as its client does. */
const portionsOf =
  (
    { leads }: Dependencies['clients'],
    { created_from, created_to }: Static<typeof Query>,
    { accountId, signal }: { accountId: number; signal: AbortSignal },
  ): Portion =>
  (after) =>
    leads.exportLeads(
      { accountId, after, createdFrom: instantOf(created_from), createdTo: instantOf(created_to) },
      { signal },
    )

/** The text of an export. No portion is asked for before the one before it has left. */
async function* textOf(
  first: ExportLeadsResponse,
  portion: Portion,
  { format, draining }: { format: keyof typeof FORMATS; draining: AbortSignal },
): AsyncGenerator<Buffer | string> {
  const { head, rows } = FORMATS[format]
  yield head()
  for (
    let { leads, nextAfter } = first;
    nextAfter !== undefined;
    { leads, nextAfter } = await portion(nextAfter)
  ) {
    yield rows(leads)
    // Breaks the connection off: the client sees that it does not have all.
    draining.throwIfAborted()
  }
}

/** GET /manage/exports: all leads of an account, or those of a time, as a file. */
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
        'All leads with customer and quotes, oldest first: as lines of JSON, each a lead as Retrieve Lead shows it, or as CSV with a header. A connection that breaks off says that the file is not complete. An account may have four exports at once.',
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
    const given = request.query as Record<string, unknown>
    const { value, faults } = check({ fields: given, faults: textFaults(given) })
    if (faults) throw ServiceError.invalid(faults)
    const { format = 'ndjson' } = value
    reply.headers({
      'content-type': FORMATS[format].type,
      'content-disposition': `attachment; filename="leads.${format}"`,
    })
    if (request.method === 'HEAD') return reply.send()
    const { accountId } = request.principal
    const leave = enter(accountId)
    reply.raw.once('close', leave)
    const portion = portionsOf(clients, value, { accountId, signal: limitsOf(reply).goneSignal() })
    // Before the first byte: what fails here is answered with its status.
    const first = await portion()
    reply.raw.setTimeout(fileIdleMs, () => request.raw.destroy())
    return reply.send(Readable.from(textOf(first, portion, { format, draining }), { objectMode: false }))
  })
}
