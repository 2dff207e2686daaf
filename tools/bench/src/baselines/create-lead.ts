import { randomUUID } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type pg from 'pg'
import { renderLead } from './render-lead'

export type CreateBody = {
  name: string
  first_name: string
  last_name: string
  email: string
  phone: string
  postcode: string
  referrer: string
  status: string
}

const FIELDS = ['name', 'first_name', 'last_name', 'email', 'phone', 'postcode', 'referrer', 'status']

/** Fastify validates the body with this schema. */
export const createSchema = {
  body: {
    type: 'object',
    required: FIELDS,
    properties: Object.fromEntries(FIELDS.map((field) => [field, { type: 'string', maxLength: 255 }])),
  },
}

const COUNT = `
  UPDATE baseline.accounts
  SET lead_count = lead_count + 1, last_lead_at = greatest(clock_timestamp(), last_lead_at)
  WHERE id = $1 RETURNING lead_count, last_lead_at`

const INSERT = `
  INSERT INTO baseline.leads (account_id, number, reference, customer_id, first_name, last_name, email, phone,
    phone_link, name, value, postcode, user_agent, ip, referrer, device_type, device_name, browser, browser_version, os,
    os_version, status, type, test, created_at, updated_at)
  SELECT $1, $9, $10, nextval('customers_id_seq'), $2, $3, $4, $5, $6, $11, 0, $7, $12, $13, $14, 'unknown',
    'unknown', 'unknown', 'unknown', 'unknown', 'unknown', $15, 'quote', false, $8, $8
  RETURNING id, customer_id`

const OUTBOX = `
  INSERT INTO baseline.outbox (event_id, account_id, type, payload) VALUES ($1, $2, 'lead.created', $3)`

/** The values of those response fields that a request does not set. */
const DEFAULTS = {
  value: 0,
  description: null,
  referrer_url: null,
  type: 'quote',
  test: 0,
  quotes: '[]',
  device_type: 'unknown',
  device_name: 'unknown',
  browser: 'unknown',
  browser_version: 'unknown',
  os: 'unknown',
  os_version: 'unknown',
  company_name: null,
  mobile: null,
  mobile_link: null,
  address_1: null,
  address_2: null,
  city: null,
  county: null,
  avatar_url: null,
}

/**
 * Creates a lead in one transaction of three statements: the account's counter, the lead, the outbox row.
 * Returns the lead's JSON. Does not parse the user agent or the telephone number.
 */
export async function createLead(pool: pg.Pool, request: FastifyRequest): Promise<string> {
  const body = request.body as CreateBody
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    const lead = await insertLead(client, request, body)
    await client.query('COMMIT')
    client.release()
    return lead
  } catch (error) {
    client.release(error instanceof Error ? error : true)
    throw error
  }
}

async function insertLead(client: pg.PoolClient, request: FastifyRequest, body: CreateBody): Promise<string> {
  const { accountId, ip } = request
  const userAgent = request.headers['user-agent'] ?? 'unknown'
  const reference = randomUUID()
  const link = `tel:${body.phone.replace(/\D/g, '')}`
  const counted = await client.query<{ lead_count: number; last_lead_at: string }>({
    name: 'count',
    text: COUNT,
    values: [accountId],
  })
  const { lead_count: number, last_lead_at: createdAt } = counted.rows[0]!
  const customer = [body.first_name, body.last_name, body.email, body.phone, link, body.postcode, createdAt]
  const lead = [number, reference, body.name, userAgent, ip, body.referrer, body.status]
  const inserted = await client.query<{ id: number; customer_id: number }>({
    name: 'insert',
    text: INSERT,
    values: [accountId, ...customer, ...lead],
  })
  const { id, customer_id } = inserted.rows[0]!
  const stamps = { created_at: createdAt, updated_at: createdAt, c_created_at: createdAt }
  const derived = { phone_link: link, c_postcode: body.postcode, user_agent: userAgent, ip }
  const json = renderLead({ ...DEFAULTS, ...body, ...derived, ...stamps, id, reference, c_id: customer_id })
  await client.query({ name: 'outbox', text: OUTBOX, values: [randomUUID(), accountId, Buffer.from(json)] })
  return json
}
