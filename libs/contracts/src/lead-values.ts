/** The lead statuses, in the order the interface lists them (States and transitions). */
export const LEAD_STATUSES = [
  'appointment_scheduled',
  'awaiting_email',
  'callback_later',
  'duplicate',
  'lost',
  'not_interested',
  'number_not_recognised',
  'open',
  'out_of_area',
  'sold',
  'spam',
  'test',
  'unable_to_contact',
] as const

/** The referrers Create Lead accepts (interface: Create Lead). */
export const LEAD_REFERRERS = [
  'Canvasser',
  'Email',
  'Existing Customer',
  'Facebook',
  'Live Chat',
  'Phone',
  'Purchased Lead',
  'Showroom',
  'Website',
] as const

/** A visitor's lead can also come by no referrer at all (interface: Lead.referrer). */
export const VISITOR_REFERRERS = [...LEAD_REFERRERS, 'Direct'] as const
