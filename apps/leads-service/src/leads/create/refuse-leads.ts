/*
 * Decides which leads of a batch are refused, before any of them is written: leads that refer to an unknown
 * user or image, leads that are too large, and leads beyond the daily limit of their token. A refused lead
 * does not affect the others.
 */
import { attributeTerms, type CreateLead, type Image, MAX_ATTRIBUTES } from '@leadwire/contracts'
import {
  type FieldErrors,
  ServiceError,
  splitIntoColumns,
  statement,
  type Transaction,
} from '@leadwire/service-kit'
import type { Row } from '../../database/row-mapper'
import { IMAGE_COLUMNS, readImage } from '../../images/images'
import { HEADER_BYTES } from '../../outbox/publish-events'
import { countItems, type Stamp } from './number-leads'
import { type LeadReferences, renderNewLead } from './render-lead'

/** The users and images that a batch of new leads refers to. */
export interface References extends LeadReferences {
  /** Lists the fields of a lead that refer to an unknown user or image. */
  listErrors(item: CreateLead): FieldErrors
}

type Known = Row & { account_id: number; id: number }

const findUsers = statement<Known>('known-users')`
  SELECT account_id, id, email FROM users
  WHERE (account_id, id) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[])) AND removed_at IS NULL`

const findImages = statement<Known>('known-images')`
  SELECT m.account_id, m.id, ${IMAGE_COLUMNS} FROM images m
  WHERE (m.account_id, m.id) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))`

/** A record that a lead refers to. `field` is the field of the lead that has the record's id. */
type Reference = { accountId: number; id: number; field: string }

const nameRecord = ({ accountId, id }: Omit<Reference, 'field'>) => `${accountId}/${id}`

const listUser = ({ accountId, lead }: CreateLead): Reference[] =>
  lead?.userId === undefined ? [] : [{ accountId, id: lead.userId, field: 'user_id' }]

const listImages = ({ accountId, lead }: CreateLead): Reference[] =>
  (lead?.quotes ?? []).flatMap(({ items }, q) =>
    items.map(({ imageId: id }, i) => ({ accountId, id, field: `quotes.${q}.items.${i}.image_id` })),
  )

/** Resolves with the rows of the records that exist. */
const findRecords = async (
  tx: Transaction,
  references: Reference[],
  find: typeof findUsers,
): Promise<Map<string, Row>> => {
  if (references.length === 0) return new Map()
  const rows = await find(tx, ...splitIntoColumns(references, 'accountId', 'id'))
  return new Map(rows.map((row) => [nameRecord({ accountId: row.account_id, id: row.id }), row]))
}

const listMissing = (
  references: Reference[],
  found: Map<string, unknown>,
  message: string,
): [string, string[]][] =>
  references.filter((reference) => !found.has(nameRecord(reference))).map(({ field }) => [field, [message]])

export const loadReferences = async (
  tx: Transaction,
  items: CreateLead[],
  assetsUrl: string,
): Promise<References> => {
  const users = await findRecords(tx, items.flatMap(listUser), findUsers)
  const rows = await findRecords(tx, items.flatMap(listImages), findImages)
  const images = new Map<string, Image>()
  for (const [name, row] of rows) images.set(name, readImage(row, assetsUrl))
  return {
    listErrors: (item) =>
      Object.fromEntries([
        ...listMissing(listUser(item), users, 'The selected user id is invalid.'),
        ...listMissing(listImages(item), images, 'The selected image id is invalid.'),
      ]),
    findImage: (accountId, id) => images.get(nameRecord({ accountId, id }))!,
    findUserEmail: (item) => {
      const [user] = listUser(item)
      return user && (users.get(nameRecord(user))!['email'] as string)
    },
  }
}

/**
 * How large a lead may be. `maxItems` counts the items of all quotes. `maxEventBytes` includes the headers
 * of the event.
 */
export type Limits = { maxQuotes: number; maxItems: number; maxEventBytes: number }

const formatNumber = (count: number) => count.toLocaleString('en-GB')

const listTooMany = (what: string, count: number, max: number): string[] => {
  if (count <= max) return []
  return [`A lead may not have more than ${formatNumber(max)} ${what}; this one has ${formatNumber(count)}.`]
}

/** Lists the errors of a lead that has more quotes, items or attributes than a lead may have. */
const listCountErrors = (item: CreateLead, { maxQuotes, maxItems }: Limits): FieldErrors => {
  const { quotes, attributes } = item.lead!
  const errors: FieldErrors = {}
  const quoteErrors = [
    ...listTooMany('quotes', quotes.length, maxQuotes),
    ...listTooMany('items in all', countItems(item), maxItems),
  ]
  if (quoteErrors.length > 0) errors['quotes'] = quoteErrors
  const attributeErrors = listTooMany('attributes', attributeTerms(attributes).length, MAX_ATTRIBUTES)
  if (attributeErrors.length > 0) errors['attributes'] = attributeErrors
  return errors
}

/**
 * A size, in bytes, that the event of a lead without quotes and attributes never reaches. The gateway limits
 * the lead's texts, and JSON needs at most six bytes for a character.
 */
const MOST_WITHOUT_QUOTES = 200_000

/** Makes a stamp with the longest values that PostgreSQL can draw. */
const makeLongestStamp = (item: CreateLead): Stamp => {
  const id = Number.MAX_SAFE_INTEGER
  const listIds = (count: number) => new Array<number>(count).fill(id)
  return {
    accountKey: '-'.repeat(50),
    createdAt: '0001-01-01T00:00:00.000000Z',
    number: id,
    id,
    customerId: id,
    quoteIds: listIds(item.lead!.quotes.length),
    itemIds: listIds(countItems(item)),
  }
}

/**
 * Lists the errors of a lead whose event may be too large to be published. A small request can make a large
 * event, because each item includes its image. The event is measured before the lead gets a number, because a
 * refused lead would otherwise leave a gap in the account's numbers. The event is therefore rendered with the
 * longest possible number and ids.
 */
const listSizeErrors = (item: CreateLead, references: References, { maxEventBytes }: Limits): FieldErrors => {
  const { quotes, attributes } = item.lead!
  if (quotes.length === 0 && !attributes && maxEventBytes >= MOST_WITHOUT_QUOTES) return {}
  const settings = { references, jsonFormat: 0, hasEvent: true }
  const { event } = renderNewLead(item, makeLongestStamp(item), settings)
  const bytes = event!.payload.length + HEADER_BYTES
  if (bytes <= maxEventBytes) return {}
  const size = `its event could have ${formatNumber(bytes)} bytes, but the limit is ${formatNumber(maxEventBytes)}`
  const message = `The lead is too large: ${size}. Send fewer or shorter values.`
  if (quotes.length > 0) return { quotes: [message] }
  if (attributes) return { attributes: [message] }
  return { description: [message] }
}

const toError = (errors: FieldErrors): ServiceError | undefined =>
  Object.keys(errors).length > 0 ? ServiceError.invalid(errors) : undefined

/**
 * Returns the error of a lead that refers to an unknown user or image, or that is too large. Returns
 * undefined if the lead may be written. If `item` changes only a part of a lead, `whole` is the lead after
 * the change.
 */
export const refuseLead = (
  item: CreateLead,
  references: References,
  limits: Limits,
  whole: CreateLead = item,
): ServiceError | undefined => {
  const error = toError({ ...listCountErrors(whole, limits), ...references.listErrors(item) })
  // Checks the size last, because the event can be measured only if all its images exist.
  return error ?? toError(listSizeErrors(whole, references, limits))
}

// Locks tokens by ascending id, before any account is locked. Also counts leads beyond the limit of a token.
// This does no harm, because the token may create no more leads today anyway.
const count = statement<{ id: number; before: number; endsInS: number }>('count-daily')`
  WITH locked AS MATERIALIZED (
    SELECT t.id, asked.leads FROM unnest($1::bigint[], $2::int[]) AS asked (token_id, leads)
    JOIN tokens t ON t.id = asked.token_id
    ORDER BY t.id FOR NO KEY UPDATE OF t
  )
  UPDATE tokens t SET captured_on = (clock_timestamp() AT TIME ZONE 'UTC')::date,
    captured = leads + CASE WHEN captured_on = (clock_timestamp() AT TIME ZONE 'UTC')::date THEN captured ELSE 0 END
  FROM locked WHERE t.id = locked.id
  RETURNING t.id, t.captured - leads AS before,
    ceil(extract(epoch FROM (captured_on + 1)::timestamp AT TIME ZONE 'UTC' - clock_timestamp()))::int AS "endsInS"`

/**
 * Counts new leads against the daily limits of their tokens. `items` must not contain leads that are refused
 * for another reason. Resolves with the errors of the leads beyond a limit.
 */
export const refuseBeyondDaily = async (
  tx: Transaction,
  items: CreateLead[],
): Promise<Map<CreateLead, ServiceError>> => {
  const byToken = new Map<number, CreateLead[]>()
  for (const item of items) {
    const { dailyLimit, actor } = item
    if (dailyLimit !== undefined && actor)
      byToken.set(actor.tokenId, [...(byToken.get(actor.tokenId) ?? []), item])
  }
  const refused = new Map<CreateLead, ServiceError>()
  if (byToken.size === 0) return refused
  const counts = [...byToken.values()].map(({ length }) => length)
  for (const { id, before, endsInS } of await count(tx, [...byToken.keys()], counts)) {
    for (const [index, item] of byToken.get(id)!.entries()) {
      const { dailyLimit = 0 } = item
      if (before + index < dailyLimit) continue
      const detail = `This token may create at most ${dailyLimit} leads a day (UTC). Try again tomorrow.`
      const retryAfterS = Math.max(1, endsInS)
      refused.set(item, new ServiceError('rate_limited', detail, { retryAfterS }))
    }
  }
  return refused
}
