import { LRUCache } from 'lru-cache'
import { UAParser } from 'ua-parser-js'

const UNKNOWN = 'unknown'

const parse = (userAgent: string) => {
  const { browser, device, os } = new UAParser(userAgent).getResult()
  return {
    // The parser names a type only for what is no desktop computer.
    device_type: device.type ?? (os.name ? 'desktop' : UNKNOWN),
    device_name: [device.vendor, device.model].filter(Boolean).join(' ') || UNKNOWN,
    browser: browser.name ?? UNKNOWN,
    browser_version: browser.version ?? UNKNOWN,
    os: os.name ?? UNKNOWN,
    os_version: os.version ?? UNKNOWN,
  }
}

// A few user agents make most of the traffic, and parsing one takes some fifty regular expressions.
const cache = new LRUCache<string, ReturnType<typeof parse>>({ max: 2000, memoMethod: parse })

/** Device, browser and operating system of a User-Agent string. No field is ever empty. */
export const visitorDevice = (userAgent: string) => cache.memo(userAgent)
