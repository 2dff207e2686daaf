import { type Static, type TSchema, Type } from '@sinclair/typebox'
import type { Scope } from '../auth/authenticate'
import { notes } from '../validation/fields'
import { leadReference } from './lead-reference'
import { type Call, operation } from './operation'
import { cursorPageJson } from './page-json'
import { refusal } from './reference-errors'
import { cursorPageOf, LeadParams } from './schemas'

export const CursorQuery = Type.Object({
  cursor: Type.Optional(
    // An id: the records of the answer have lower ones.
    Type.String({
      pattern: '^[1-9][0-9]{0,14}$',
      ...notes('The `next_cursor` of the answer before. Without it the newest records come.'),
    }),
  ),
})

interface LeadListOperation {
  url: string
  operationId: string
  tag: string
  summary: string
  /** Told before what all of these lists have in common. */
  description?: string
  /** `leads:read` unless it says so. */
  scope?: Scope
  /** The schema of a record. */
  record: TSchema
  find: (
    call: Call<Static<typeof CursorQuery>>,
    asked: { accountId: number; reference: string; before: number | undefined },
  ) => Promise<{ items: Uint8Array; nextBefore?: number | undefined }>
}

const PAGED =
  'Newest first, at most 100 in an answer. The `next_cursor` of an answer asks for those that follow.'

/** A list of what belongs to a lead, newest first, answer by answer: each names the cursor of the next. */
export const leadListOperation = ({
  record,
  find,
  description,
  scope = 'leads:read',
  ...about
}: LeadListOperation) =>
  operation<typeof CursorQuery>({
    ...about,
    method: 'GET',
    description: [description, PAGED].filter(Boolean).join('\n\n'),
    scope,
    params: LeadParams,
    query: CursorQuery,
    checks: CursorQuery,
    answer: {
      description: 'The newest, or those that follow the cursor.',
      schema: cursorPageOf(record),
    },
    handler: async (call) => {
      const { request, accountId, check } = call
      const reference = leadReference(request)
      const { value, faults } = check()
      if (faults) throw await refusal(call, faults, { leadReference: reference })
      const before = value.cursor === undefined ? undefined : Number(value.cursor)
      const { items, nextBefore } = await find(call, { accountId, reference, before })
      return cursorPageJson(items, nextBefore === undefined ? undefined : String(nextBefore))
    },
  })
