import { ServiceError } from '@leadwire/service-kit'
import type { Static, TObject, TSchema } from '@sinclair/typebox'
import { CursorQuery } from '../api/list-operation'
import { type Call, operation } from '../api/operation'
import { cursorPageJson } from '../api/page-json'
import { cursorPageOf } from '../api/schemas'

interface ImportListOperation {
  url: string
  operationId: string
  summary: string
  description: string
  params?: TObject
  record: TSchema
  find: (
    call: Call<Static<typeof CursorQuery>>,
    cursor: number | undefined,
  ) => Promise<{ items: Uint8Array; next: number | undefined }>
}

/** A list answer by answer: each names the cursor of the next. */
export const importListOperation = ({ record, find, description, ...about }: ImportListOperation) =>
  operation<typeof CursorQuery>({
    ...about,
    method: 'GET',
    tag: 'Management',
    description: `${description} At most 100 in an answer. The \`next_cursor\` of an answer asks for those that follow.`,
    scope: 'manage',
    query: CursorQuery,
    checks: CursorQuery,
    answer: { description: 'The first, or those that follow the cursor.', schema: cursorPageOf(record) },
    handler: async (call) => {
      const { value, faults } = call.check()
      if (faults) throw ServiceError.invalid(faults)
      const { items, next } = await find(call, value.cursor === undefined ? undefined : Number(value.cursor))
      return cursorPageJson(items, next === undefined ? undefined : String(next))
    },
  })
