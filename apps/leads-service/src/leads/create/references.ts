import { CheckReferencesResponse, type CreateLead, emailForm, type Image } from '@leadwire/contracts'
import { columnsOf, type FieldErrors, statement, type Transaction } from '@leadwire/service-kit'
import { isId, isText, isUuid, validate } from '../../arguments'
import type { Row } from '../../database/row-mapper'
import { IMAGE_COLUMNS, imageOfRow } from '../../images/images'
import type { Operation } from '../../operation'

/** The users and images that a batch of new leads refers to, and which of them exist: one bad item fails alone. */
export interface References {
  errorsOf(item: CreateLead): FieldErrors
  imageOf(accountId: number, imageId: number): Image
  /** Of the user that an item is assigned to. */
  userEmailOf(item: CreateLead): string | undefined
}

type Known = Row & { account_id: number; id: number }

const knownUsers = statement<Known>('known-users')`
  SELECT account_id, id, email FROM users
  WHERE (account_id, id) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[])) AND removed_at IS NULL`

const knownImages = statement<Known>('known-images')`
  SELECT m.account_id, m.id, ${IMAGE_COLUMNS} FROM images m
  WHERE (m.account_id, m.id) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))`

/** `field` is where the lead names it. */
type Asked = { accountId: number; id: number; field: string }

const keyOf = ({ accountId, id }: Omit<Asked, 'field'>) => `${accountId}/${id}`

const userOf = ({ accountId, lead }: CreateLead): Asked[] =>
  lead?.userId === undefined ? [] : [{ accountId, id: lead.userId, field: 'user_id' }]

const imagesOf = ({ accountId, lead }: CreateLead): Asked[] =>
  (lead?.quotes ?? []).flatMap(({ items }, q) =>
    items.map(({ imageId: id }, i) => ({ accountId, id, field: `quotes.${q}.items.${i}.image_id` })),
  )

/** The rows that exist of those asked for. */
const find = async (tx: Transaction, asked: Asked[], known: typeof knownUsers): Promise<Map<string, Row>> => {
  if (asked.length === 0) return new Map()
  const rows = await known(tx, ...columnsOf(asked, 'accountId', 'id'))
  return new Map(rows.map((row) => [keyOf({ accountId: row.account_id, id: row.id }), row]))
}

export const loadReferences = async (
  tx: Transaction,
  items: CreateLead[],
  assetsUrl: string,
): Promise<References> => {
  const users = await find(tx, items.flatMap(userOf), knownUsers)
  const rows = await find(tx, items.flatMap(imagesOf), knownImages)
  const images = new Map([...rows].map(([key, row]) => [key, imageOfRow(row, assetsUrl)]))
  return {
    errorsOf: (item) => ({
      ...missing(userOf(item), users, 'The selected user id is invalid.'),
      ...missing(imagesOf(item), images, 'The selected image id is invalid.'),
    }),
    imageOf: (accountId, id) => images.get(keyOf({ accountId, id }))!,
    userEmailOf: (item) => userOf(item).map((user) => users.get(keyOf(user))!['email'] as string)[0],
  }
}

const missing = (asked: Asked[], found: Map<string, unknown>, message: string): FieldErrors =>
  Object.fromEntries(asked.filter((one) => !found.has(keyOf(one))).map(({ field }) => [field, [message]]))

const OF_LEAD = 'a.lead_id = (SELECT id FROM leads WHERE reference = $2 AND account_id = $1)'

const check = statement<CheckReferencesResponse>('check-references')`
  SELECT
    $2::uuid IS NOT NULL AND NOT EXISTS (SELECT FROM leads WHERE reference = $2 AND account_id = $1) AS "leadMissing",
    $3::bigint IS NOT NULL
        AND NOT EXISTS (SELECT FROM users WHERE account_id = $1 AND id = $3 AND removed_at IS NULL)
      OR $4::text IS NOT NULL
        AND NOT EXISTS (SELECT FROM users WHERE account_id = $1 AND lower(email) = lower($4) AND removed_at IS NULL)
      AS "userMissing",
    ARRAY (
      SELECT asked.id FROM unnest($5::bigint[]) AS asked (id)
      WHERE NOT EXISTS (SELECT FROM images WHERE account_id = $1 AND images.id = asked.id)
    )::float8[] AS "missingImageIds",
    $6::bigint IS NOT NULL AND NOT EXISTS (SELECT FROM appointments a WHERE a.account_id = $1 AND a.id = $6 AND ${OF_LEAD})
      OR $7::bigint IS NOT NULL AND NOT EXISTS (SELECT FROM callbacks a WHERE a.account_id = $1 AND a.id = $7 AND ${OF_LEAD})
      AS "entryMissing"`

/** Finds the missing references of an invalid request, so that its response lists all errors. */
export const checkReferences: Operation<'checkReferences'> = async ({ database }, request) => {
  const { accountId, leadReference, userId, userEmail, imageIds, appointmentId, callbackId } = request
  validate({ account_id: isId(accountId), user_email: isText(userEmail ?? '', 320) })
  if (leadReference !== undefined && !isUuid(leadReference))
    return CheckReferencesResponse.fromPartial({ leadMissing: true })
  const email = userEmail === undefined ? null : emailForm(userEmail)
  const users = [userId ?? null, email]
  const entries = [appointmentId ?? null, callbackId ?? null]
  const [found] = await check(database, accountId, leadReference ?? null, ...users, imageIds, ...entries)
  return found!
}
