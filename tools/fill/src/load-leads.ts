import type { Lead } from '@leadwire/contracts'
import { instant, type Sql } from './sql'

const SELECT = `
  SELECT json_build_object('id', l.id, 'reference', l.reference, 'name', l.name, 'value', l.value,
    'description', l.description, 'postcode', l.postcode, 'userAgent', l.user_agent, 'ip', l.ip,
    'referrer', l.referrer, 'referrerUrl', l.referrer_url, 'deviceType', l.device_type, 'deviceName', l.device_name,
    'browser', l.browser, 'browserVersion', l.browser_version, 'os', l.os, 'osVersion', l.os_version,
    'status', l.status, 'type', l.type, 'test', l.test, 'createdAt', ${instant('l.created_at')},
    'updatedAt', ${instant('l.updated_at')}, 'quotes', '[]'::json,
    'customer', json_build_object('id', c.id, 'firstName', c.first_name, 'lastName', c.last_name,
      'companyName', c.company_name, 'email', c.email, 'phone', c.phone, 'phoneLink', c.phone_link,
      'mobile', c.mobile, 'mobileLink', c.mobile_link, 'address1', c.address_1, 'address2', c.address_2,
      'city', c.city, 'county', c.county, 'postcode', c.postcode, 'avatarUrl', c.avatar_url,
      'createdAt', ${instant('c.created_at')})) AS lead, l.event_id AS "eventId"
  FROM leads l JOIN customers c ON c.account_id = l.account_id AND c.id = l.customer_id
  WHERE l.account_id = $1 AND l.number > $2 AND l.number <= $2 + $3 ORDER BY l.number`

export interface LoadedLead {
  lead: Lead
  /** The event of its creation; null: it has none. */
  eventId: string | null
}

/** `count` of an account's leads from the one after number `after`, without their quotes. */
export const loadLeads = (
  rows: Sql['rows'],
  { accountId, after, count }: { accountId: number; after: number; count: number },
): Promise<LoadedLead[]> => rows(SELECT, [accountId, after, count])
