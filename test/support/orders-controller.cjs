/** A controller of NestJS in a CommonJS module, as `nest build` writes them. */
const { NotFoundException } = require('@nestjs/common');

class Orders {
  /** Its subclass is the controller. */
  async find(id) {
    if (id === '7') throw new NotFoundException('No order 7');
    if (id === '8') throw new TypeError('no price');
    return `order ${id}`;
  }
}

exports.Orders = Orders;
exports.OrdersController = class OrdersController extends Orders {};
