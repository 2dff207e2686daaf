/** An instant in UTC with microseconds: `2026-01-31T09:30:00.000000Z`. */
export type Timestamp = string
/** 1 means yes. */
type Flag = 0 | 1

export interface LeadCreated {
  type?: never
  data: Lead
}

/**
 * A Lead with its customer and quotes. `value` is in GBP. Ignore unknown fields: later releases may add some.
 */
export interface Lead {
  id: number
  /** A UUID that identifies the lead in paths of the API. */
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
  test: Flag
  created_at: Timestamp
  updated_at: Timestamp
  customer: Customer
  quotes: Quote[]
  /** Present only if the endpoint includes attributes and the lead has some. */
  attributes?: Record<string, string | number | boolean>
}

export interface Customer {
  id: number
  first_name: string
  last_name: string
  name: string
  company_name: string | null
  email: string
  phone: string
  /** `tel:` followed by the number. */
  phone_link: string
  mobile: string | null
  mobile_link: string | null
  address_1: string | null
  address_2: string | null
  city: string | null
  county: string | null
  postcode: string
  avatar_url: string | null
  created_at: Timestamp
}

export interface Quote {
  id: number
  lead_id: number
  status: string
  created_at: Timestamp
  updated_at: Timestamp
  items: QuoteItem[]
}

/** `price`, `cost` and `tax` are in pence. */
export interface QuoteItem {
  id: number
  quote_id: number
  product_style_id: number
  name: string
  price: number
  cost: number | null
  margin: number | null
  tax: number | null
  minimum: number | null
  maximum: number | null
  format: string
  hidden: Flag
  status: string
  created_at: Timestamp
  updated_at: Timestamp
  image: Image | null
  /** The keys, such as `width`, `height` and `glass`, depend on the product. */
  options: Record<string, unknown>
}

export interface Image {
  id: number
  name: string | null
  file_name: string
  /** In bytes. */
  file_size: number
  content_type: string
  alt: string | null
  public: Flag
  processed: Flag
  created_at: Timestamp
  updated_at: Timestamp
  url: string
}
