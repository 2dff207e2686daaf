import { Lead } from '@leadwire/contracts'

/** No lead of anybody's: ids begin at 1, and no reference is ever made like this. */
const REFERENCE = '00000000-0000-4000-8000-000000000000'

const OPTIONS = { width: 1200, height: 900, external_frame_colour: 'White', glass: 'Clear' }

/**
 * A lead to try an endpoint with: a test lead with every record a lead can have, its ids 0 and its values clearly
 * samples (an example.com address, telephone numbers that Ofcom keeps for drama). `now` is an ISO timestamp with six digits.
 */
export const sampleLead = (now: string): Lead => {
  const times = { createdAt: now, updatedAt: now }
  const image = {
    fileName: 'sample.png',
    fileSize: 1234,
    contentType: 'image/png',
    public: true,
    processed: true,
    ...times,
    url: 'https://example.com/sample.png',
  }
  const item = {
    name: 'Sample window',
    price: 45_900,
    format: 'range',
    status: 'active',
    ...times,
    options: JSON.stringify(OPTIONS),
    image,
  }
  // What is not given here is 0 or false.
  return Lead.fromPartial({
    reference: REFERENCE,
    name: 'Sample lead',
    value: 1234,
    description: 'This is a test of your webhook endpoint. No customer asked for anything.',
    postcode: 'SW1A 1AA',
    userAgent: 'Mozilla/5.0 (sample)',
    ip: '192.0.2.1',
    referrer: 'Website',
    referrerUrl: 'https://example.com/',
    deviceType: 'desktop',
    deviceName: 'Sample device',
    browser: 'Sample browser',
    browserVersion: '1.0',
    os: 'Sample OS',
    osVersion: '1.0',
    status: 'test',
    type: 'quote',
    test: true,
    ...times,
    customer: {
      firstName: 'Sample',
      lastName: 'Customer',
      companyName: 'Sample Company Ltd',
      email: 'sample@example.com',
      phone: '020 7946 0000',
      phoneLink: 'tel:+442079460000',
      mobile: '07700 900000',
      mobileLink: 'tel:+447700900000',
      postcode: 'SW1A 1AA',
      createdAt: now,
    },
    quotes: [{ status: 'complete', ...times, items: [item] }],
  })
}
