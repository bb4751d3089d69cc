import {
  encryptionStatusProcedure,
  retireKeysProcedure,
  rotateEncryptionProcedure,
} from './encryption/encryption-procedures.ts'
import { eraseOrdersProcedure, findErasableProcedure } from './erasures/erasure-procedures.ts'
import {
  createOrderProcedure,
  deleteOrderProcedure,
  getOrderProcedure,
  listOrdersProcedure,
  patchOrderProcedure,
  putOrderProcedure,
} from './orders/order-procedures.ts'
import { applyEventsProcedure, versionsProcedure } from './payments/payment-procedures.ts'
import { listReceiptsProcedure, releaseReceiptProcedure } from './receipts/receipt-procedures.ts'
import { router } from './trpc.ts'

/** All procedures of fulfilment, one per line. */
export const fulfilmentRouter = router({
  orders: router({
    get: getOrderProcedure,
    list: listOrdersProcedure,
    create: createOrderProcedure,
    put: putOrderProcedure,
    patch: patchOrderProcedure,
    delete: deleteOrderProcedure,
  }),
  payments: router({
    applyEvents: applyEventsProcedure,
    versions: versionsProcedure,
  }),
  erasures: router({ find: findErasableProcedure, erase: eraseOrdersProcedure }),
  encryption: router({
    status: encryptionStatusProcedure,
    rotate: rotateEncryptionProcedure,
    retire: retireKeysProcedure,
  }),
  receipts: router({
    list: listReceiptsProcedure,
    release: releaseReceiptProcedure,
  }),
})

/** The type of a client of fulfilment. */
export type FulfilmentRouter = typeof fulfilmentRouter
