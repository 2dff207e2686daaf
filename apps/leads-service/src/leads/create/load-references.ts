import type { CreateLead, Image } from '@leadwire/contracts'
import type { FieldErrors, Transaction } from '@leadwire/service-kit'
import type { Row } from '../../database/row-mapper'
import { IMAGE_COLUMNS, imageOfRow } from '../../images/images'

/** The users and images that a batch of new leads refers to, and which of them exist: one bad item fails alone. */
export interface References {
  errorsOf(item: CreateLead): FieldErrors
  imageOf(accountId: number, imageId: number): Image
}

const SELECT_USERS = `
  SELECT account_id, id FROM users
  WHERE (account_id, id) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[])) AND removed_at IS NULL`

const SELECT_IMAGES = `
  SELECT m.account_id, ${IMAGE_COLUMNS} FROM images m
  WHERE (m.account_id, m.id) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))`

const pair = (accountId: number, id: number) => `${accountId}/${id}`

const imageIdsOf = (item: CreateLead) =>
  (item.lead?.quotes ?? []).flatMap((quote, q) =>
    quote.items.map(({ imageId }, i) => ({ imageId, field: `quotes.${q}.items.${i}.image_id` })),
  )

export const loadReferences = async (
  tx: Transaction,
  items: CreateLead[],
  assetsUrl: string,
): Promise<References> => {
  const withUser = items.filter(({ lead }) => lead?.userId !== undefined)
  const users = new Set<string>()
  if (withUser.length > 0) {
    const values = [withUser.map(({ accountId }) => accountId), withUser.map(({ lead }) => lead!.userId)]
    const query = { name: 'known-users', text: SELECT_USERS, values }
    for (const row of await tx.query<{ account_id: number; id: number }>(query))
      users.add(pair(row.account_id, row.id))
  }
  const images = new Map<string, Image>()
  const asked = items.flatMap((item) =>
    imageIdsOf(item).map(({ imageId }) => ({ accountId: item.accountId, imageId })),
  )
  if (asked.length > 0) {
    const values = [asked.map(({ accountId }) => accountId), asked.map(({ imageId }) => imageId)]
    const query = { name: 'known-images', text: SELECT_IMAGES, values }
    for (const row of await tx.query<Row & { account_id: number }>(query)) {
      const image = imageOfRow(row, assetsUrl)
      images.set(pair(row.account_id, image.id), image)
    }
  }
  return {
    errorsOf: (item) => {
      const fieldErrors: FieldErrors = {}
      const userId = item.lead?.userId
      if (userId !== undefined && !users.has(pair(item.accountId, userId))) {
        fieldErrors['user_id'] = ['The selected user id is invalid.']
      }
      for (const { imageId, field } of imageIdsOf(item)) {
        if (!images.has(pair(item.accountId, imageId)))
          fieldErrors[field] = ['The selected image id is invalid.']
      }
      return fieldErrors
    },
    imageOf: (accountId, imageId) => images.get(pair(accountId, imageId))!,
  }
}
