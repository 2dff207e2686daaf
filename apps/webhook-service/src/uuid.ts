const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Whether PostgreSQL will take a text as the uuid it looks like. */
export const isUuid = (text: string): boolean => UUID.test(text)
