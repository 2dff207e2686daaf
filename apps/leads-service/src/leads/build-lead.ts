import { randomUUID } from 'node:crypto'
import type { CreateLead, Lead } from '@leadwire/contracts'
import { phoneNumbers } from '../contacts/phone-numbers'
import { isTest } from './lead-rows'
import type { References } from './load-references'
import type { Stamp } from './number-leads'
import { visitorDevice } from './visitor-device'

/** A new lead as it is stored and shown. `imageOf` knows every image of its items. */
export const buildLead = (
  { accountId, lead }: CreateLead,
  { id, customerId, createdAt, quoteIds, itemIds }: Stamp,
  imageOf: References['imageOf'],
): Lead => {
  const asked = lead!
  let itemAt = 0
  // One literal for each record, without rest or spread of what was asked: that costs ten times as much.
  return {
    id,
    reference: randomUUID(),
    name: asked.name,
    value: asked.value,
    description: asked.description,
    postcode: asked.postcode,
    userAgent: asked.userAgent,
    ip: asked.ip,
    referrer: asked.referrer,
    referrerUrl: asked.referrerUrl,
    ...visitorDevice(asked.userAgent),
    status: asked.status,
    type: 'quote',
    test: isTest(asked),
    createdAt,
    updatedAt: createdAt,
    customer: {
      id: customerId,
      firstName: asked.firstName,
      lastName: asked.lastName,
      companyName: asked.companyName,
      email: asked.email,
      phone: asked.phone,
      phoneLink: phoneNumbers(asked.phone)[0].link,
      mobile: asked.mobile,
      mobileLink: asked.mobile === undefined ? undefined : phoneNumbers(asked.mobile)[0].link,
      postcode: asked.postcode,
      createdAt,
    },
    quotes: asked.quotes.map(({ status, items }, quoteAt) => ({
      id: quoteIds[quoteAt]!,
      leadId: id,
      status,
      createdAt,
      updatedAt: createdAt,
      items: items.map((item) => ({
        id: itemIds[itemAt++]!,
        quoteId: quoteIds[quoteAt]!,
        productStyleId: item.productStyleId,
        name: item.name,
        price: item.price,
        cost: item.cost,
        margin: item.margin,
        tax: item.tax,
        minimum: item.minimum,
        maximum: item.maximum,
        format: item.format,
        hidden: item.hidden,
        status: item.status,
        createdAt,
        updatedAt: createdAt,
        image: imageOf(accountId, item.imageId),
        productStyle: {
          sku: item.productStyleSku,
          name: item.productStyleName,
          productName: item.productName,
        },
        options: item.options,
      })),
    })),
  }
}
