import { idOf, listOperation } from '../api/list-operation'
import { ImportFault } from './import-schema'

export const listImportFaults = listOperation({
  route: 'GET /manage/imports/:id/faults',
  operationId: 'listImportFaults',
  summary: 'List the rows of an import that were refused',
  description:
    'In the order of the file. The first 10,000 are kept, and `rows_failed` counts all. At most 100 in an answer. The `next_cursor` of an answer asks for those that follow.',
  record: ImportFault,
  answer: 'The first, or those that follow the cursor.',
  find: async ({ pathId, accountId, clients, limits }, _filters, cursor) => {
    const asked = { accountId, importId: pathId(), after: idOf(cursor) }
    const { items, nextAfter } = await clients.imports.listImportFaults(asked, limits)
    return { items, next: nextAfter }
  },
})
