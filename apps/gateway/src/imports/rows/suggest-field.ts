import { Customer, keepLetters } from '@leadwire/contracts'
import { distance } from 'fastest-levenshtein'
import { LEAD_FIELDS } from '../../exports/lead-csv'
import { FIELDS } from './rows'

/** Names, as letters only, that other systems use for the fields of a lead. */
const OTHER_NAMES: Record<string, string[]> = {
  name: ['subject', 'leadname', 'leadtitle', 'enquiry', 'project', 'opportunity', 'dealname'],
  first_name: [
    'forename',
    'given',
    'givenname',
    'christianname',
    'fname',
    'fullname',
    'contactname',
    'customername',
  ],
  last_name: ['surname', 'family', 'familyname', 'secondname', 'lname'],
  company_name: [
    'company',
    'organisation',
    'organization',
    'business',
    'employer',
    'firm',
    'account',
    'accountname',
  ],
  email: ['mail', 'emailid'],
  phone: ['tel', 'telno', 'landline', 'contactnumber', 'contactno', 'daytimenumber'],
  mobile: ['cell', 'cellular', 'cellnumber', 'mob', 'mobno', 'handphone'],
  postcode: ['zip', 'zipcode', 'postal', 'postalcode', 'pcode', 'postzip'],
  referrer: ['source', 'channel', 'origin', 'medium', 'leadorigin', 'heardaboutus', 'howdidyouhearaboutus'],
  status: ['stage', 'state', 'outcome', 'disposition'],
  user_id: ['user', 'owner', 'assignee', 'assignedto', 'agent', 'salesperson', 'salesrep', 'rep', 'userid'],
  value: ['amount', 'price', 'budget', 'worth', 'total', 'revenue', 'cost', 'quoteamount'],
  description: [
    'note',
    'notes',
    'comment',
    'comments',
    'message',
    'details',
    'remarks',
    'info',
    'requirements',
  ],
  user_agent: ['browseragent', 'useragentstring'],
  ip: ['ipaddress', 'ipaddr', 'clientip'],
  referrer_url: [
    'referrerurl',
    'refererurl',
    'referringpage',
    'referringurl',
    'sourceurl',
    'landingpage',
    'pageurl',
  ],
  test: ['istest', 'testlead'],
  quotes: ['quotation', 'quotations'],
  attributes: ['customfields', 'extra', 'metadata', 'properties'],
  created_at: [
    'created',
    'createdon',
    'datecreated',
    'createddate',
    'creationdate',
    'enquirydate',
    'leaddate',
    'received',
    'datereceived',
    'submittedat',
    'timestamp',
    'date',
  ],
  external_id: ['crmid', 'leadid', 'externalreference', 'externalref', 'yourid', 'ourref', 'recordid'],
}

const NAMES = FIELDS.flatMap((field) => [
  { field, letters: keepLetters(field), isOwn: true },
  ...(OTHER_NAMES[field] ?? []).map((letters) => ({ field, letters, isOwn: false })),
])

/** Columns of an export that an import ignores on purpose. The import suggests no field for these columns. */
const EXPORTED = new Set(
  [...LEAD_FIELDS, ...Object.keys(Customer.properties).map((field) => `customer.${field}`)]
    .map(keepLetters)
    .filter((letters) => !NAMES.some((known) => known.letters === letters)),
)

/** Matches the names of tracking parameters that advertisements add to URLs. */
const CAMPAIGN = /^(utm(source|medium|campaign|term|content|id)|gclid|gbraid|wbraid|fbclid|msclkid|ttclid)$/

/**
 * The minimum length of a name that `findPart` searches for. Shorter names, such as `ip`, are part of many
 * words.
 */
const SHORTEST_PART = 5

/**
 * Finds the field whose name is part of the given letters. If several names match, the name that ends last
 * wins: `Company telephone` is a telephone.
 */
const findPart = (letters: string): string | undefined => {
  const parts = NAMES.filter((name) => name.letters.length >= SHORTEST_PART && letters.includes(name.letters))
    .map((name) => ({ ...name, end: letters.lastIndexOf(name.letters) + name.letters.length }))
    .toSorted((a, b) => b.end - a.end || b.letters.length - a.letters.length)
  return parts[0]?.field
}

/**
 * Finds the field whose name differs by one or two typing mistakes. Two swapped letters count as two
 * mistakes.
 */
const findNearest = (letters: string): string | undefined => {
  const near = NAMES.filter((name) => name.letters.length >= 4)
    .map((name) => ({ ...name, mistakes: distance(letters, name.letters) }))
    .filter(({ mistakes, isOwn }) => mistakes <= (isOwn && letters.length >= 5 ? 2 : 1))
    .toSorted((a, b) => a.mistakes - b.mistakes)
  return near[0]?.field
}

/**
 * Returns the field that the name of an unknown column may mean, such as `mobile` for `Mobile Number`, or
 * `attributes.gclid` for `GCLID`. Returns undefined if no field has a similar name.
 */
export const suggestField = (name: string): string | undefined => {
  const letters = keepLetters(name)
  if (letters.length < 2 || EXPORTED.has(letters)) return undefined
  if (CAMPAIGN.test(letters))
    return `attributes.${name
      .trim()
      .toLowerCase()
      .replace(/[\s-]+/g, '_')}`
  const same = NAMES.find((known) => known.letters === letters)
  return same?.field ?? findPart(letters) ?? findNearest(letters)
}
