import { ServiceError } from '@leadwire/service-kit'
import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'
import { PageQuery, pageOf } from './docs/shared-schemas'
import { pageJson, pageNumber } from './http/paging'
import { type Call, operation } from './operation'
import { textFaults } from './validation/text-faults'

interface PagedOperation<Filters extends TObject> {
  url: string
  operationId: string
  tag: string
  summary: string
  /** What the query may hold beside `page`. */
  filters: Filters
  /** The schema of a row. */
  record: TSchema
  /** The rows of a page, and how many there are on all. */
  find: (
    call: Call<Static<Filters>>,
    asked: Static<Filters> & { page: number },
  ) => Promise<{ records: object[]; total: number; perPage: number }>
}

/** A list under `/manage` with filters, page by page, newest first. The addresses of other pages keep the filters. */
export const pagedOperation = <Filters extends TObject>({
  url,
  filters,
  record,
  find,
  ...about
}: PagedOperation<Filters>) =>
  operation<Filters>({
    ...about,
    method: 'GET',
    url,
    description: 'Newest first.',
    scope: 'manage',
    query: Type.Object({ ...filters.properties, ...PageQuery.properties }),
    checks: filters,
    answer: { description: 'A page.', schema: pageOf(record, url) },
    problems: ['invalid'],
    handler: async (call) => {
      const { request, check, addressOf } = call
      // What is no page is page 1, whatever it is.
      const { page: givenPage, ...given } = request.query as Record<string, unknown>
      const { value, faults } = check({ fields: given, faults: textFaults(given) })
      if (faults) throw ServiceError.invalid(faults)
      const page = pageNumber(givenPage)
      const { records, total, perPage } = await find(call, { ...value, page })
      const query = Object.fromEntries(
        Object.entries(value as object).map(([name, filter]) => [name, String(filter)]),
      )
      const [items, path] = [JSON.stringify(records), `${addressOf(request)}${url}`]
      return pageJson({ page, perPage, total, count: records.length, items, path, query })
    },
  })
