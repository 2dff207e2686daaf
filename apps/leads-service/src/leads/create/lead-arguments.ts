import {
  ATTRIBUTE_BYTES,
  ATTRIBUTE_KEY,
  type CreateLead,
  isEmail,
  type NewLead,
  type NewQuoteItem,
  POSTCODE,
  VISITOR_REFERRERS,
} from '@leadwire/contracts'
import { type FieldErrors, parseTraceparent } from '@leadwire/service-kit'
import { errorsOf, isActor, isId, isOptional, isSaid, isStatus, isText } from '../../arguments'
import { isIdempotency } from '../../idempotency/idempotency-keys'

const isPhone = (text: string) => isText(text) && /\p{Nd}/u.test(text)

const isOption = ([key, value]: [string, unknown]) =>
  isText(key) && (typeof value === 'string' ? isText(value) : Number.isFinite(value))

/** Whether a text is that of a JSON object of strings and numbers (interface: Quote item, options). */
const isOptions = (text: string): boolean => {
  try {
    const options: unknown = JSON.parse(text)
    if (typeof options !== 'object' || options === null || Array.isArray(options)) return false
    return !text.includes('\0') && Object.entries(options).every(isOption)
  } catch {
    return false
  }
}

const isAttribute = ([key, value]: [string, unknown]) =>
  ATTRIBUTE_KEY.test(key) &&
  (typeof value === 'string'
    ? isText(value, ATTRIBUTE_BYTES) && Buffer.byteLength(value) <= ATTRIBUTE_BYTES
    : value === null || typeof value === 'boolean' || Number.isFinite(value))

/** Whether a text is that of a JSON object of attributes. */
const isAttributes = (text: string): boolean => {
  try {
    return text.startsWith('{') && Object.entries(JSON.parse(text)).every(isAttribute)
  } catch {
    return false
  }
}

const itemFields = (item: NewQuoteItem) => ({
  product_style_id: isId(item.productStyleId),
  name: isSaid(item.name),
  margin: isOptional(item.margin, Number.isFinite),
  minimum: isOptional(item.minimum, Number.isFinite),
  maximum: isOptional(item.maximum, Number.isFinite),
  format: isSaid(item.format),
  status: isSaid(item.status),
  'product_style.sku': isText(item.productStyleSku),
  'product_style.name': isText(item.productStyleName),
  'product_style.product.name': isText(item.productName),
  image_id: isId(item.imageId),
  options: isOptions(item.options),
})

// Also of fields that have no check of their own.
const areTexts = (lead: NewLead) =>
  Object.entries(lead).every(
    ([field, value]) => typeof value !== 'string' || field === 'attributes' || isText(value, 10_000),
  )

const leadFields = (lead: NewLead) => ({
  name: isSaid(lead.name),
  value: lead.value >= 0,
  description: isOptional(lead.description, (text) => isText(text, 10_000)),
  postcode: POSTCODE.test(lead.postcode),
  user_agent: isText(lead.userAgent, 1024),
  ip: isText(lead.ip),
  referrer: (VISITOR_REFERRERS as readonly string[]).includes(lead.referrer),
  referrer_url: isOptional(lead.referrerUrl, (text) => isText(text, 2048)),
  status: isStatus(lead.status),
  user_id: isOptional(lead.userId, isId),
  first_name: isSaid(lead.firstName),
  last_name: isSaid(lead.lastName),
  company_name: isOptional(lead.companyName, isText),
  email: isEmail(lead.email),
  phone: isPhone(lead.phone),
  mobile: isOptional(lead.mobile, isPhone),
  attributes: isOptional(lead.attributes, isAttributes),
  external_id: lead.upsert ? isSaid(lead.externalId ?? '') : isOptional(lead.externalId, isSaid),
})

const givenFields = (lead: NewLead) => {
  const { upsert } = lead
  const fields = Object.entries(leadFields(lead))
  return upsert
    ? Object.fromEntries(fields.filter(([field]) => upsert.given.includes(field)))
    : leadFields(lead)
}

/** What an upsert lacks to make a new lead. */
export const missingErrors = ({ lead }: CreateLead): FieldErrors => {
  if (!lead?.upsert) return {}
  const { given } = lead.upsert
  const missing = Object.entries(leadFields(lead)).filter(
    ([field, sound]) => !sound && !given.includes(field),
  )
  return Object.fromEntries(
    missing.map(([field]) => [field, [`The ${field.replaceAll('_', ' ')} field is required.`]]),
  )
}

const quoteErrors = ({ quotes }: NewLead): FieldErrors => {
  const fieldErrors: FieldErrors = {}
  for (const [q, { status, items }] of quotes.entries()) {
    Object.assign(fieldErrors, errorsOf({ status: isSaid(status) }, `quotes.${q}.`))
    for (const [i, item] of items.entries()) {
      const fields = itemFields(item)
      if (!Object.values(fields).every(Boolean))
        Object.assign(fieldErrors, errorsOf(fields, `quotes.${q}.items.${i}.`))
    }
  }
  return fieldErrors
}

/** What is wrong with a new lead in itself. The gateway has checked it; an item of another caller must not harm its batch. */
export const leadErrors = (item: CreateLead): FieldErrors => ({
  ...errorsOf({
    account_id: isId(item.accountId),
    lead: item.lead !== undefined && areTexts(item.lead),
    idempotency: isOptional(item.idempotency, isIdempotency),
    actor: isOptional(item.actor, isActor),
    daily_limit: isOptional(item.dailyLimit, (limit) => isId(limit) && item.actor !== undefined),
    traceparent: item.traceparent === '' || parseTraceparent(item.traceparent) !== undefined,
    ...(item.lead && givenFields(item.lead)),
  }),
  ...(item.lead && quoteErrors(item.lead)),
})
