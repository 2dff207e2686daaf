/** The columns of a lead in the order of its JSON. */
export const LEAD = `l.id, l.reference, l.name, l.value, l.description, l.postcode, l.user_agent, l.ip, l.referrer,
  l.referrer_url, l.device_type, l.device_name, l.browser, l.browser_version, l.os, l.os_version, l.status, l.type,
  l.test::int AS test, l.created_at, l.updated_at`

const formatTime = (column: string) => `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

const ITEMS = `
  SELECT coalesce(json_agg(json_build_object('id', i.id, 'quote_id', i.quote_id,
    'product_style_id', i.product_style_id, 'name', i.name, 'price', i.price, 'cost', i.cost, 'margin', i.margin,
    'tax', i.tax, 'minimum', i.minimum, 'maximum', i.maximum, 'format', i.format, 'hidden', i.hidden::int,
    'status', i.status, 'created_at', ${formatTime('i.created_at')}, 'updated_at', ${formatTime('i.updated_at')},
    'image', json_build_object('id', m.id, 'name', m.name, 'file_name', m.file_name, 'file_size', m.file_size,
      'content_type', m.content_type, 'alt', m.alt, 'public', m.public::int, 'processed', m.processed::int,
      'created_at', ${formatTime('m.created_at')}, 'updated_at', ${formatTime('m.updated_at')}, 'url', $3::text || m.key),
    'product_style', json_build_object('sku', i.product_style_sku, 'name', i.product_style_name,
      'product', json_build_object('name', i.product_name)),
    'options', i.options) ORDER BY i.id), '[]')
  FROM quote_items i JOIN images m ON m.account_id = i.account_id AND m.id = i.image_id
  WHERE i.account_id = q.account_id AND i.quote_id = q.id`

/** Selects a lead with its quotes. $1 account, $2 reference, $3 the base URL of images. */
export const SELECT_LEAD = `
  SELECT ${LEAD}, l.customer_id AS c_id, l.first_name, l.last_name, l.company_name, l.email, l.phone, l.phone_link,
    l.mobile, l.mobile_link, l.address_1, l.address_2, l.city, l.county, l.postcode AS c_postcode, l.avatar_url,
    l.created_at AS c_created_at,
    (SELECT coalesce(json_agg(json_build_object('id', q.id, 'lead_id', q.lead_id, 'status', q.status,
       'created_at', ${formatTime('q.created_at')}, 'updated_at', ${formatTime('q.updated_at')}, 'items', (${ITEMS}))
       ORDER BY q.id), '[]')
     FROM quotes q WHERE q.account_id = l.account_id AND q.lead_id = l.id) AS quotes
  FROM leads l
  WHERE l.reference = $2 AND l.account_id = $1`

/**
 * Selects a page by the leads' numbers, which have no gaps. $1 account, $2 the number of leads on earlier
 * pages.
 */
export const SELECT_PAGE = `
  SELECT ${LEAD}, a.lead_count
  FROM accounts a
  JOIN leads l ON l.account_id = a.id AND l.number <= a.lead_count - $2 AND l.number > a.lead_count - $2 - 20
  WHERE a.id = $1 ORDER BY l.number DESC`
