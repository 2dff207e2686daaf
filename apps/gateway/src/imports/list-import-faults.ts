import { pathId } from '../api/path-id'
import { IdParams } from '../api/schemas'
import { importListOperation } from './import-list-operation'
import { ImportFault } from './import-schema'

/** GET /manage/imports/:id/faults. */
export const listImportFaults = importListOperation({
  url: '/manage/imports/:id/faults',
  operationId: 'listImportFaults',
  summary: 'List the rows of an import that were refused',
  description: 'In the order of the file. The first 10,000 are kept, and `rows_failed` counts all.',
  params: IdParams,
  record: ImportFault,
  find: async ({ request, accountId, clients, limits }, after) => {
    const asked = { accountId, importId: pathId(request), after }
    const { items, nextAfter } = await clients.imports.listImportFaults(asked, limits)
    return { items, next: nextAfter }
  },
})
