import type { Customer, Lead } from '@leadwire/contracts'

/** A lead joined with its customer, as PostgreSQL gives it. */
export interface LeadRow {
  id: number
  reference: string
  name: string
  value: number
  description: string | null
  postcode: string
  user_agent: string
  ip: string
  referrer: string
  referrer_url: string | null
  device_type: string
  device_name: string
  browser: string
  browser_version: string
  os: string
  os_version: string
  status: string
  type: string
  test: boolean
  created_at: string
  updated_at: string
}

export interface CustomerRow {
  customer_id: number
  first_name: string
  last_name: string
  company_name: string | null
  email: string
  phone: string
  phone_link: string
  mobile: string | null
  mobile_link: string | null
  address_1: string | null
  address_2: string | null
  city: string | null
  county: string | null
  customer_postcode: string
  avatar_url: string | null
  customer_created_at: string
}

export const LEAD_COLUMNS = `l.id, l.reference, l.name, l.value, l.description, l.postcode, l.user_agent, l.ip,
  l.referrer, l.referrer_url, l.device_type, l.device_name, l.browser, l.browser_version, l.os, l.os_version,
  l.status, l.type, l.test, l.created_at, l.updated_at`

export const CUSTOMER_COLUMNS = `c.id AS customer_id, c.first_name, c.last_name, c.company_name, c.email, c.phone,
  c.phone_link, c.mobile, c.mobile_link, c.address_1, c.address_2, c.city, c.county, c.postcode AS customer_postcode,
  c.avatar_url, c.created_at AS customer_created_at`

const given = (value: string | null) => value ?? undefined

/** A lead with status `test` is a test lead, whoever made it. */
export const isTestLead = (lead: { test: boolean; status: string }): boolean =>
  lead.test || lead.status === 'test'

/** The message of a lead's own columns, without customer and quotes. */
export const leadOfRow = (row: LeadRow): Lead => ({
  id: row.id,
  reference: row.reference,
  name: row.name,
  value: row.value,
  description: given(row.description),
  postcode: row.postcode,
  userAgent: row.user_agent,
  ip: row.ip,
  referrer: row.referrer,
  referrerUrl: given(row.referrer_url),
  deviceType: row.device_type,
  deviceName: row.device_name,
  browser: row.browser,
  browserVersion: row.browser_version,
  os: row.os,
  osVersion: row.os_version,
  status: row.status,
  type: row.type,
  test: isTestLead(row),
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  customer: undefined,
  quotes: [],
})

export const customerOfRow = (row: CustomerRow): Customer => ({
  id: row.customer_id,
  firstName: row.first_name,
  lastName: row.last_name,
  companyName: given(row.company_name),
  email: row.email,
  phone: row.phone,
  phoneLink: row.phone_link,
  mobile: given(row.mobile),
  mobileLink: given(row.mobile_link),
  address1: given(row.address_1),
  address2: given(row.address_2),
  city: given(row.city),
  county: given(row.county),
  postcode: row.customer_postcode,
  avatarUrl: given(row.avatar_url),
  createdAt: row.customer_created_at,
})
