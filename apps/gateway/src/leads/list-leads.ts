import { hash } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { operation } from '../api/operation'
import { pageJson, pageNumber } from '../api/page-json'
import { PageQuery, pageOrStepOf } from '../api/schemas'
import { unlessKnown } from '../http/entity-tags'
import { findLeads } from './find-leads'
import { asksMore, LeadQuery } from './lead-query'
import { LeadListItem } from './lead-schema'

const LeadPage = pageOrStepOf(LeadListItem, '/leads', ' Only with parameters beside `page`.')

// A strong tag: of these very bytes, the addresses among them. 9 µs for 12 KB.
const taggedBody = (request: FastifyRequest, reply: FastifyReply, body: Buffer) =>
  unlessKnown(request, reply, `"${hash('sha256', body, 'base64url')}"`, body)

/** GET /leads (interface: Get Leads): the account's leads, newest first. */
export const listLeads = operation({
  method: 'GET',
  url: '/leads',
  operationId: 'listLeads',
  tag: 'Leads',
  summary: 'Get leads',
  description:
    'Leads, newest first, 20 a page. Every page costs the same, however deep. A page past the end is empty.\n\n' +
    'Filters can be combined. A response looks at 10,000 leads at most, so it may have fewer than asked for and a `next_cursor` all the same: `next_cursor` is null at the end alone. With filters `total` stops at 10,000 (`total_capped`). With `cursor` the response has `data` and `next_cursor`; such a walk repeats no lead and leaves out none while others are created. With `updated_since`, and sorted by `updated_at`, changes are shown when none can come before them any more. With any parameter beside `page`, or another spelling of one such as `status[]`, an unknown or repeated one is refused.',
  scope: 'leads:read',
  query: Type.Object({ ...PageQuery.properties, ...LeadQuery.properties }),
  checks: LeadQuery,
  etag: 'read',
  answer: {
    description: 'A page of leads, or with `cursor` a step of a walk.',
    schema: LeadPage,
  },
  isBatched: true,
  handler: async (call) => {
    const { request, reply, accountId, clients, limits, addressOf } = call
    const query = request.query as Record<string, unknown>
    if (asksMore(query)) return taggedBody(request, reply, await findLeads(call))
    const page = pageNumber(query['page'])
    const { items, count, total, perPage } = await clients.listLeads({ accountId, page }, limits)
    const body = pageJson({ page, perPage, total, count, items, path: `${addressOf(request)}/leads` })
    return taggedBody(request, reply, body)
  },
})
