import { type CreateLead, MAX_EVENT_BYTES, NewLead } from '@leadwire/contracts'
import type { Faults } from '@leadwire/service-kit'
import type { ImageRow } from '../attachments/image-row'

/** So many items always fit, whatever they and their images say. */
const SURELY_FIT = 500
/** What an item, its image and its style have beside their texts: names, ids, numbers and times. */
const BYTES_AROUND_AN_ITEM = 1500

/**
 * What is wrong with a lead whose event or webhook would be too large to be carried: it would be stored and never told.
 * A small body can make a large lead, because each item carries its image. The bound is generous: what it lets
 * through fits even if each character has to be escaped.
 */
export const sizeFaults = (
  { accountId, lead }: CreateLead,
  imageOf: (accountId: number, imageId: number) => ImageRow,
): Faults | undefined => {
  const items = lead!.quotes.flatMap((quote) => quote.items)
  if (items.length <= SURELY_FIT) return undefined
  const imageBytes = new Map<number, number>()
  let bytes = 2 * NewLead.encode(lead!).finish().length
  for (const { imageId } of items) {
    let image = imageBytes.get(imageId)
    if (image === undefined) {
      image = Buffer.byteLength(JSON.stringify(imageOf(accountId, imageId)))
      imageBytes.set(imageId, image)
    }
    bytes += image + BYTES_AROUND_AN_ITEM
  }
  if (bytes <= MAX_EVENT_BYTES) return undefined
  const megabytes = (count: number) => (count / 1e6).toFixed(1)
  return {
    quotes: [
      `The quotes make a webhook of up to ${megabytes(bytes)} MB, and ${megabytes(MAX_EVENT_BYTES)} MB are the most. Use fewer items.`,
    ],
  }
}
