export type Row = Record<string, unknown>

export type LeadRow = Row & {
  /** The lead's quotes as JSON. */
  quotes: string
}

/** Renders a row of SELECT_LEAD as the response with one lead. */
export const renderLead = ({ quotes, ...row }: LeadRow): string => {
  const customer = {
    id: row['c_id'],
    first_name: row['first_name'],
    last_name: row['last_name'],
    name: `${row['first_name']} ${row['last_name']}`,
    company_name: row['company_name'],
    email: row['email'],
    phone: row['phone'],
    phone_link: row['phone_link'],
    mobile: row['mobile'],
    mobile_link: row['mobile_link'],
    address_1: row['address_1'],
    address_2: row['address_2'],
    city: row['city'],
    county: row['county'],
    postcode: row['c_postcode'],
    avatar_url: row['avatar_url'],
    created_at: row['c_created_at'],
  }
  const lead = JSON.stringify({ ...pickFields(row), customer })
  return `{"data":${lead.slice(0, -1)},"quotes":${quotes}}}`
}

/** Takes a row of SELECT_LEAD or SELECT_PAGE. Returns the fields that a lead has in a list. */
export const pickFields = (row: Row) => ({
  id: row['id'],
  reference: row['reference'],
  name: row['name'],
  value: row['value'],
  description: row['description'],
  postcode: row['postcode'],
  user_agent: row['user_agent'],
  ip: row['ip'],
  referrer: row['referrer'],
  referrer_url: row['referrer_url'],
  device_type: row['device_type'],
  device_name: row['device_name'],
  browser: row['browser'],
  browser_version: row['browser_version'],
  os: row['os'],
  os_version: row['os_version'],
  status: row['status'],
  type: row['type'],
  test: row['test'],
  created_at: row['created_at'],
  updated_at: row['updated_at'],
})
